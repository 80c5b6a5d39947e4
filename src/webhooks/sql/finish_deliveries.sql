-- Writes what came of attempts: each attempt, the state of its delivery, and the counts of its webhook. Answers the
-- states. A delivery is tried again while it has retries left, and never past 24 hours. An attempt whose lease had
-- ended may have been made twice; what has arrived stays delivered.
-- Each delivery is looked up by its key: the planner knows neither how many there are nor how few rows a time has, and
-- compared each with each.
create or replace function finish_deliveries(p_items json, p_stats json)
returns table (delivery_id uuid, new_status delivery_status)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off as $$
declare
  now_at timestamptz := ledger_now();
begin
  insert into webhook_stat as s (webhook_id, half_hour, delivered, failed, failed_events, durations)
  select n.webhook_id, date_bin('30 minutes', now_at, '2000-01-01Z'), n.delivered, n.failed, n.failed_events,
    n.durations
  from json_to_recordset(p_stats) as n (
    webhook_id uuid, delivered integer, failed integer, failed_events integer, durations integer[])
  order by n.webhook_id
  on conflict (webhook_id, half_hour) do update
  set delivered = s.delivered + excluded.delivered, failed = s.failed + excluded.failed,
    failed_events = s.failed_events + excluded.failed_events,
    durations = array(
      select d.before + d.new from unnest(s.durations, excluded.durations) with ordinality as d (before, new, place)
      order by d.place);

  return query
  with judged as materialized (
    select i.*, now_at + i.retry_after_ms * interval '1 millisecond' as retry_at
    from json_to_recordset(p_items) as i (
      webhook_id uuid, id uuid, created_at timestamptz, at timestamptz, duration_ms integer, response_status smallint,
      outcome text, reason text, response_body text, request_headers text, delivered boolean, retry_after_ms bigint)
  ), updated as (
    update webhook_delivery d
    -- A counter that is full must not keep the results of others from being written.
    set attempts = least(d.attempts, 32766) + 1,
      status = case when j.delivered then 'delivered' when d.status <> 'pending' then d.status
        when d.retries_left > 0 and j.retry_at <= d.queued_at + interval '24 hours' then 'pending'
        else 'failed' end::delivery_status,
      due_at = case when d.status = 'pending' and not j.delivered and d.retries_left > 0
        and j.retry_at <= d.queued_at + interval '24 hours' then j.retry_at end,
      retries_left = greatest(0, d.retries_left - (not j.delivered)::integer),
      delivered_at = case when j.delivered then coalesce(d.delivered_at, now_at) else d.delivered_at end
    from judged j
    where d.webhook_id = j.webhook_id and d.id = j.id and d.created_at = j.created_at
    -- With all that an attempt has: a join of the two would compare each with each.
    returning d.status, d.attempts, j.*
  ), attempts as (
    insert into webhook_attempt (created_at, at, duration_ms, response_status, number, delivery_id, outcome, reason,
      response_body, request_headers)
    select u.created_at, u.at, u.duration_ms, u.response_status, u.attempts, u.id, u.outcome, u.reason,
      u.response_body, u.request_headers
    from updated u
  )
  select u.id, u.status from updated u;
end $$;
