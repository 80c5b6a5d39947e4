-- Takes the next rows of the outbox and finds the webhooks that may be told of each: those of the app it came through,
-- or of all the developer's apps where it came through none. Answers how many were taken, the events that somebody
-- may be told of, and those webhooks.
-- The rows are taken by a statement of their own: the next one then sees all that their transactions wrote. In one
-- statement, what committed as it began would be taken without the call behind it.
create or replace function take_events(p_buckets smallint[], p_limit integer)
returns table (taken integer, events json, webhooks json)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  -- From before the look at the webhooks: what commits later may be meant for one that was not there yet.
  seen pg_snapshot := pg_current_snapshot();
  news outbox[];
begin
  if not exists (select 1 from webhook w where w.active) then
    perform skip_outbox('webhooks', seen);
    return query select 0, '[]'::json, '[]'::json;
    return;
  end if;
  select coalesce(array_agg(t), '{}') into news from take_outbox('webhooks', p_buckets, p_limit) t;
  return query
  with told as materialized (
    select n.id, n.kind, n.at, n.source_id, n.wallet_id, n.balance_before, n.balance_after, n.payload, u.model,
      u.endpoint, u.credits_used, u.output_tokens as completion_tokens,
      u.input_tokens + u.cached_input_tokens + u.cache_write_tokens as prompt_tokens, w.webhook_ids
    from unnest(news) n
    left join usage_event u on n.kind = 'usage.completed' and u.id = n.source_id and u.bucket = n.bucket
      and u.at = id_time(n.source_id)
    cross join lateral (
      select coalesce(u.client_id, n.payload ->> 'client_id') as client_id,
        coalesce(u.developer_id, n.wallet_id) as developer_id
    ) app
    cross join lateral (
      select array_agg(x.id) as webhook_ids
      from (
        select w.id, w.active, w.active_since, w.listens_until from webhook w where w.client_id = app.client_id
        union all
        select w.id, w.active, w.active_since, w.listens_until from webhook w
        where app.client_id is null and w.developer_id = app.developer_id
      ) x
      where x.active and x.active_since <= n.at and (x.listens_until is null or x.listens_until > n.at)
    ) w
    where w.webhook_ids is not null and n.kind <> 'usage.free'
  )
  select cardinality(news),
    (select coalesce(json_agg(t), '[]') from told t),
    (select coalesce(json_agg(json_build_object('id', w.id, 'url', w.url, 'events', w.events,
        'low_balance_threshold', w.low_balance_threshold, 'secret', w.secret, 'previous_secret', w.previous_secret,
        'previous_secret_until', w.previous_secret_until)), '[]')
      from webhook w where w.id in (select unnest(t.webhook_ids) from told t));
end $$;
