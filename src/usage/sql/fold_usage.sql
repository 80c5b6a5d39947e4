-- Adds up to p_limit settled calls to the sums, those that were committed since the last time, and answers how many
-- rows of the outbox it has read, and which balances have fallen below what their owners want to be told of: once for
-- each time. One process at a time; the others answer 0.
-- After a dump and restore the numbers of transactions begin anew, and nobody can say which calls are in the sums: it
-- then answers -1, and rebuild_usage is how to go on.
create or replace function fold_usage(p_buckets smallint[], p_limit integer)
returns table (folded integer, low json)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  c event_cursor%rowtype; news outbox[];
begin
  select * into c from event_cursor where reader = 'usage' for update skip locked;
  if not found then
    return query select 0, '[]'::json;
    return;
  end if;
  if pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax(coalesce(c.target, c.done)) then
    return query select -1, '[]'::json;
    return;
  end if;
  -- A statement of its own: the next one then sees all that their transactions wrote.
  select coalesce(array_agg(t), '{}') into news from take_outbox('usage', p_buckets, p_limit) t;
  perform add_usage(array(
    select usage_fact_of(u)
    from unnest(news) n
    join usage_event u on u.bucket = n.bucket and u.id = n.source_id and u.at = id_time(n.source_id)
    where n.kind in ('usage.completed', 'usage.free')));
  return query
  select cardinality(news), (
    select coalesce(json_agg(json_build_object('account_id', x.id, 'balance', x.balance, 'threshold', x.threshold)), '[]')
    from (
      select distinct on (a.id) a.id, n.balance_after as balance, a.low_balance_credits as threshold
      from unnest(news) n
      join account a on a.id = n.wallet_id
      where n.balance_before >= a.low_balance_credits and n.balance_after < a.low_balance_credits
      order by a.id, n.written_by desc, n.id desc
    ) x);
end $$;
