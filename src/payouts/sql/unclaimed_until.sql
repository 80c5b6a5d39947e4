-- The developer's earnings up to p_until that may be paid out and that no payout has taken: whole hours from the sums,
-- and of the hour that is cut the rows themselves. Planned once for a session: a plan looks at every partition.
create or replace function unclaimed_until(
  p_developer_id uuid, p_until timestamptz, p_buckets smallint[]
) returns bigint
language plpgsql stable parallel safe set plan_cache_mode = force_generic_plan as $$
declare
  cut_hour timestamptz := date_trunc('hour', p_until, 'UTC');
begin
  return
    coalesce((
      select sum(h.unclaimed) from earning_hour h
      where h.developer_id = p_developer_id and h.hour < cut_hour), 0)
    + coalesce((
      select sum(d.unclaimed) from earning_delta d
      where d.developer_id = p_developer_id and d.hour < cut_hour), 0)
    + coalesce((
      select sum(e.amount) from developer_earning e
      where e.bucket = any (p_buckets) and e.developer_id = p_developer_id and e.payout_id is null and e.payable
        and e.usage_at >= cut_hour and e.usage_at <= p_until), 0);
end $$;
