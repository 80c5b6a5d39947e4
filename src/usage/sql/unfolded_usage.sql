-- The settled calls that are not in the sums yet, with what the caller's snapshot sees: with the sums of that snapshot they
-- are all calls. As many as were settled since the last fold.
create or replace function unfolded_usage(p_buckets smallint[]) returns usage_fact[]
language plpgsql stable set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  c event_cursor%rowtype; from_at timestamptz;
begin
  select * into c from event_cursor where reader = 'usage';
  -- As take_outbox has it.
  from_at := c.done_at - interval '1 day';
  return array(
    select usage_fact_of(u)
    from outbox o
    join usage_event u on u.bucket = o.bucket and u.id = o.source_id and u.at = id_time(o.source_id)
    where o.bucket = any (p_buckets)
      and o.at >= from_at
      and o.kind in ('usage.completed', 'usage.free')
      and o.written_by >= pg_snapshot_xmin(c.done)
      and not pg_visible_in_snapshot(o.written_by, c.done)
      and (c.target is null or not pg_visible_in_snapshot(o.written_by, c.target)
        or (o.written_by, o.id) > (c.after_xid, c.after_id)));
end $$;
