-- Makes the sums anew from the calls themselves, but for months whose calls are archived. To be called in a transaction of
-- one snapshot, with usage_hour locked before it was taken.
create or replace function rebuild_usage(p_buckets smallint[]) returns void
language plpgsql as $$
declare
  kept_until timestamptz; first_at timestamptz; last_at timestamptz; day timestamptz;
begin
  select coalesce((max(month) + interval '1 month') at time zone 'UTC', '-infinity') into kept_until
  from ledger_seal where archived_at is not null;
  delete from usage_hour where hour >= kept_until;
  delete from app_usage where month >= (kept_until at time zone 'UTC')::date;
  select least(
      (select min(at) from usage_event where bucket = any (p_buckets) and at >= kept_until),
      (select min(at) from failed_call where bucket = any (p_buckets) and at >= kept_until)),
    greatest(
      (select max(at) from usage_event where bucket = any (p_buckets) and at >= kept_until),
      (select max(at) from failed_call where bucket = any (p_buckets) and at >= kept_until))
  into first_at, last_at;
  for day in
    select generate_series(date_trunc('day', first_at, 'UTC'), last_at, interval '1 day')
  loop
    perform add_usage(array(
      select usage_fact_of(u) from usage_event u
      where u.bucket = any (p_buckets) and u.at >= day and u.at < day + interval '1 day'));
    perform add_usage(array(
      select usage_fact_of_failed(f) from failed_call f
      where f.bucket = any (p_buckets) and f.at >= day and f.at < day + interval '1 day'));
  end loop;
  update event_cursor
  set done = pg_current_snapshot(), done_at = ledger_now(), target = null, target_at = null, after_xid = '0',
    after_id = 0
  where reader = 'usage';
end $$;
