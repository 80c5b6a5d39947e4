-- The next rows of the outbox for one reader, oldest transaction first, and moves its cursor past them. Whoever takes
-- them does its work in the same transaction: both commit, or neither. Answers nothing while somebody else reads.
--
-- Ids of a sequence are given out before a commit, so a reader that follows them misses rows that commit late. Here a
-- pass takes what was committed between two snapshots, whichever transaction was longer: nothing is missed, nothing is
-- read twice, and no long transaction holds up the others.
--
-- Numbers of transactions are those of one database server. After a dump and restore they begin anew: what may not
-- have been read yet is then given this transaction's number, and is read again. Readers tolerate a repeated row.
create or replace function take_outbox(p_reader text, p_buckets smallint[], p_limit integer) returns setof outbox
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off as $$
declare
  c event_cursor%rowtype; r outbox%rowtype; taken integer := 0; from_at timestamptz; to_at timestamptz;
begin
  select * into c from event_cursor where reader = p_reader for update skip locked;
  if not found then
    return;
  end if;

  if c.target is null then
    c.target := pg_current_snapshot(); c.target_at := ledger_now();
    c.after_xid := '0'; c.after_id := 0;
    if pg_snapshot_xmax(c.target) < pg_snapshot_xmax(c.done) then
      update outbox set written_by = pg_current_xact_id()
      where bucket = any (p_buckets) and at >= c.done_at - interval '1 hour';
      update event_cursor set done = '1:1:' where reader = p_reader;
      return;
    end if;
  end if;

  -- An event is as old as its posting, give or take the length of a transaction and the difference of two clocks.
  from_at := c.done_at - interval '1 day'; to_at := c.target_at + interval '1 day';
  for r in
    select * from outbox o
    where o.bucket = any (p_buckets)
      and o.at between from_at and to_at
      and o.written_by >= greatest(pg_snapshot_xmin(c.done), c.after_xid)
      and (o.written_by, o.id) > (c.after_xid, c.after_id)
      and o.written_by < pg_snapshot_xmax(c.target)
      and not pg_visible_in_snapshot(o.written_by, c.done)
      and pg_visible_in_snapshot(o.written_by, c.target)
    order by o.written_by, o.id
    limit p_limit
  loop
    taken := taken + 1;
    c.after_xid := r.written_by; c.after_id := r.id;
    return next r;
  end loop;

  if taken < p_limit then
    c.done := c.target; c.done_at := c.target_at; c.target := null; c.target_at := null;
  end if;
  update event_cursor
  set done = c.done, done_at = c.done_at, target = c.target, target_at = c.target_at, after_xid = c.after_xid,
    after_id = c.after_id
  where reader = p_reader;
end $$;
