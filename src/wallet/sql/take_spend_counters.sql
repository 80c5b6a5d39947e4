-- Makes the counters that are missing, locks all of them and reads them. Several limits of a batch may share
-- a counter: `counters` has the place of the first of them, and what stands there in `spent` and `held` is
-- the caller's to keep.
create or replace function take_spend_counters(
  p_buckets smallint[], p_owner_ids uuid[], p_periods date[],
  out counters integer[], out spent bigint[], out held bigint[]
)
language plpgsql as $$
begin
  insert into spend_counter (bucket, owner_id, period, spent, held)
  select distinct u.bucket, u.owner_id, u.period, 0, 0
  from unnest(p_buckets, p_owner_ids, p_periods) as u (bucket, owner_id, period)
  order by u.bucket, u.owner_id, u.period
  on conflict (bucket, owner_id, period) do nothing;

  perform lock_spend_counters(p_buckets, p_owner_ids, p_periods);

  select array_agg(u.counter order by u.place), array_agg(s.spent order by u.place),
    array_agg(s.held order by u.place)
  into counters, spent, held
  from (
    select n.*, min(n.place) over (partition by n.bucket, n.owner_id, n.period)::integer as counter
    from unnest(p_buckets, p_owner_ids, p_periods) with ordinality as n (bucket, owner_id, period, place)
  ) u
  left join spend_counter s on s.bucket = u.bucket and s.owner_id = u.owner_id and s.period = u.period;
  -- The job that forgets old counters may come between the insert and the lock. A limit that nobody counts
  -- would be none, so the batch is sent again.
  if array_position(spent, null) is not null then
    raise exception 'a spend counter is gone' using errcode = 'serialization_failure';
  end if;
end $$;
