-- What one account may see of what was used, added up by time and group: from the sums, and the calls that are not in them
-- yet, by the caller's snapshot. The range comes in pieces, each with the grain that it is read in: whole days are read
-- by the day. Hashed, whatever the planner expects: to sort tens of thousands of rows takes longer than to add them up.
create or replace function usage_cells(
  p_owner_id uuid, p_grains smallint[], p_froms timestamptz[], p_tos timestamptz[], p_model text, p_key_id uuid,
  p_client_id text, p_external_user_id text, p_status usage_status, p_billing_mode billing_mode, p_interval text,
  p_group_by text, p_buckets smallint[]
) returns table (
  start timestamptz, label text, credits bigint, own_credits bigint, cost_credits bigint, markup_credits bigint,
  requests bigint, errors bigint, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
  output_tokens bigint
)
language plpgsql stable set plan_cache_mode = force_generic_plan set work_mem = '16MB'
set enable_sort = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select date_trunc(p_interval, h.hour, 'UTC'),
    case p_group_by
      when 'model' then h.model
      when 'key' then h.key_id::text
      when 'app' then h.client_id
      when 'external_user' then h.external_user_id
      when 'error' then h.error_code
    end,
    sum(h.credits)::bigint, sum(h.own_credits)::bigint, sum(h.cost_credits)::bigint, sum(h.markup_credits)::bigint,
    sum(h.requests)::bigint, sum(h.errors)::bigint, sum(h.input_tokens)::bigint, sum(h.cached_input_tokens)::bigint,
    sum(h.cache_write_tokens)::bigint, sum(h.output_tokens)::bigint
  from (
    -- Offset 0 keeps it apart, so that each piece is a range of the index. Joined, all sums of the owner were read.
    select s.* from unnest(p_grains, p_froms, p_tos) as p (grain, from_at, to_at)
    cross join lateral (
      select * from usage_hour u
      where p_key_id is null
        and u.owner_id = p_owner_id and u.grain = p.grain and u.hour >= p.from_at and u.hour < p.to_at
      offset 0
    ) s
    union all
    -- The rows of one key are found in the index, whatever other keys there are.
    select s.* from unnest(p_grains, p_froms, p_tos) as p (grain, from_at, to_at)
    cross join lateral (
      select * from usage_hour u
      where p_key_id is not null
        and u.owner_id = p_owner_id and u.grain = p.grain and u.hour >= p.from_at and u.hour < p.to_at
        and u.key_id = p_key_id
      offset 0
    ) s
    union all
    select s.* from unnest(p_grains, p_froms, p_tos) as p (grain, from_at, to_at)
    join usage_shares(unfolded_usage(p_buckets)) s
      on s.owner_id = p_owner_id and s.grain = p.grain and s.hour >= p.from_at and s.hour < p.to_at
  ) h
  where (p_model is null or h.model = p_model)
    and (p_key_id is null or h.key_id = p_key_id)
    and (p_client_id is null or h.client_id = p_client_id)
    and (p_external_user_id is null or h.external_user_id = p_external_user_id)
    and (p_status is null or h.status = p_status)
    and (p_billing_mode is null or h.billing_mode = p_billing_mode)
  group by 1, 2;
end $$;
