-- Adds calls to the sums, in one order for all who do so at once. Exactly once is the caller's part.
create or replace function add_usage(p_facts usage_fact[]) returns void language plpgsql as $$
declare
  alike usage_fact[];
begin
  -- Calls of an hour that are counted in the same rows are added up before they are spread over the grains: a second of
  -- calls is mostly such.
  alike := array(
    select row(date_trunc('hour', f.at, 'UTC'), f.wallet_id, f.developer_id, f.key_id, f.client_id, f.external_user_id,
      f.billing_mode, f.model, f.status, f.error_code, sum(f.credits)::bigint, sum(f.cost_credits)::bigint,
      sum(f.markup_credits)::bigint, sum(f.input_tokens)::bigint, sum(f.cached_input_tokens)::bigint,
      sum(f.cache_write_tokens)::bigint, sum(f.output_tokens)::bigint, sum(f.requests)::bigint)::usage_fact
    from unnest(p_facts) f
    group by date_trunc('hour', f.at, 'UTC'), f.wallet_id, f.developer_id, f.key_id, f.client_id, f.external_user_id,
      f.billing_mode, f.model, f.status, f.error_code);

  insert into usage_hour as h (hour, credits, own_credits, cost_credits, markup_credits, requests, errors, input_tokens,
    cached_input_tokens, cache_write_tokens, output_tokens, status, billing_mode, grain, owner_id, key_id, model,
    client_id, external_user_id, error_code)
  select s.hour, sum(s.credits), sum(s.own_credits), sum(s.cost_credits), sum(s.markup_credits), sum(s.requests),
    sum(s.errors), sum(s.input_tokens), sum(s.cached_input_tokens), sum(s.cache_write_tokens), sum(s.output_tokens),
    s.status, s.billing_mode, s.grain, s.owner_id, s.key_id, s.model, s.client_id, s.external_user_id, s.error_code
  from usage_shares(alike) s
  group by s.owner_id, s.grain, s.hour, s.model, s.key_id, s.client_id, s.external_user_id, s.billing_mode, s.status,
    s.error_code
  order by s.owner_id, s.grain, s.hour, s.model, s.key_id, s.client_id, s.external_user_id, s.billing_mode, s.status,
    s.error_code
  on conflict on constraint usage_hour_is_unique do update
  set credits = h.credits + excluded.credits, own_credits = h.own_credits + excluded.own_credits,
    cost_credits = h.cost_credits + excluded.cost_credits, markup_credits = h.markup_credits + excluded.markup_credits,
    requests = h.requests + excluded.requests, errors = h.errors + excluded.errors,
    input_tokens = h.input_tokens + excluded.input_tokens,
    cached_input_tokens = h.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = h.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = h.output_tokens + excluded.output_tokens;

  insert into app_usage as a (client_id, account_id, month, credits, markup_credits, requests, last_used_at)
  select f.client_id, f.wallet_id, date_trunc('month', f.at at time zone 'UTC')::date, sum(f.credits),
    sum(f.markup_credits), sum(f.requests), max(f.at)
  from unnest(p_facts) f
  where f.client_id is not null
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict (client_id, account_id, month) do update
  set credits = a.credits + excluded.credits, markup_credits = a.markup_credits + excluded.markup_credits,
    requests = a.requests + excluded.requests, last_used_at = greatest(a.last_used_at, excluded.last_used_at);
end $$;
