-- Folds up to p_limit deltas into the sums and answers how many. One process at a time; the others answer 0.
create or replace function fold_earnings(p_limit integer) returns integer
language plpgsql as $$
declare
  folded integer;
begin
  if not pg_try_advisory_xact_lock(7233006) then
    return 0;
  end if;
  with taken as (
    delete from earning_delta
    where ctid = any (array(select d.ctid from earning_delta d limit p_limit))
    returning *
  ), totals as (
    insert into earning_total as t (developer_id, earned, not_payable)
    select developer_id, sum(earned), sum(not_payable) from taken group by developer_id
    on conflict (developer_id) do update
    set earned = t.earned + excluded.earned, not_payable = t.not_payable + excluded.not_payable
  ), hours as (
    insert into earning_hour as h (developer_id, hour, unclaimed)
    select developer_id, hour, sum(unclaimed) from taken group by developer_id, hour having sum(unclaimed) <> 0
    on conflict (developer_id, hour) do update set unclaimed = h.unclaimed + excluded.unclaimed
    returning h.developer_id, h.hour, h.unclaimed
  ), days as (
    insert into earning_day as d (developer_id, day, client_id, earned, calls)
    select developer_id, (hour at time zone 'UTC')::date, client_id, sum(earned), sum(calls)
    from taken
    group by 1, 2, 3
    having sum(earned) <> 0
    on conflict (developer_id, day, client_id) do update
    set earned = d.earned + excluded.earned, calls = d.calls + excluded.calls
  )
  select count(*) into folded from taken;
  -- Only here is a row of theirs changed, and here they are alone.
  delete from earning_hour where unclaimed = 0;
  return folded;
end $$;
