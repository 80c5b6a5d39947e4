-- Locks the counters of spend limits: after the wallets, and in order.
create or replace function lock_spend_counters(p_buckets smallint[], p_owner_ids uuid[], p_periods date[])
returns void
language plpgsql as $$
begin
  perform 1 from spend_counter s
  where (s.bucket, s.owner_id, s.period) in (
    select b, o, p from unnest(p_buckets, p_owner_ids, p_periods) as u (b, o, p))
  order by s.bucket, s.owner_id, s.period
  for no key update;
end $$;
