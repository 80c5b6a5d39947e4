-- Gives back holds of one bucket that nobody will resolve: past their time, or of a node without a lease. Whatever
-- somebody keeps locked is left for the next time, so that a lock on one wallet keeps no other from its credits. The
-- delete decides: a settle that came first leaves nothing here.
create or replace function sweep_holds(p_bucket smallint, p_limit integer)
returns table (reason text, holds bigint, credits bigint)
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  free_wallet_ids uuid[]; free_counters text[]; gone hold[];
  s_buckets smallint[]; s_owner_ids uuid[]; s_periods date[]; s_held bigint[];
begin
  select array_agg(w.id) into free_wallet_ids
  from (
    -- The limit counts wallets that were free: those that are locked take nobody's place.
    select w.id from wallet w
    where w.bucket = p_bucket and w.id in (
      select h.wallet_id from hold h
      where h.bucket = p_bucket and (
        h.expires_at <= v_now or not exists (select 1 from gateway_node n where n.node_id = h.node_id)))
    order by w.bucket, w.id
    limit p_limit
    for no key update skip locked
  ) w;
  if free_wallet_ids is null then
    return;
  end if;

  select array_agg(s.bucket || ' ' || s.owner_id || ' ' || s.period) into free_counters
  from (
    select s.bucket, s.owner_id, s.period from spend_counter s
    where (s.bucket, s.owner_id, s.period) in (
      select c.bucket, c.owner_id, c.period
      from hold h
      cross join lateral unnest(h.spend_buckets, h.spend_owner_ids, h.spend_periods)
        as c (bucket, owner_id, period)
      where h.bucket = p_bucket and h.wallet_id = any (free_wallet_ids))
    order by s.bucket, s.owner_id, s.period
    for no key update skip locked
  ) s;

  with deleted as (
    delete from hold h
    where h.bucket = p_bucket and h.wallet_id = any (free_wallet_ids) and h.id in (
      select o.id from hold o
      where o.bucket = p_bucket and o.wallet_id = any (free_wallet_ids)
        and (o.expires_at <= v_now
          or not exists (select 1 from gateway_node n where n.node_id = o.node_id))
        and not exists (
          select 1
          from unnest(o.spend_buckets, o.spend_owner_ids, o.spend_periods) as c (bucket, owner_id, period)
          where (c.bucket || ' ' || c.owner_id || ' ' || c.period) <> all (coalesce(free_counters, '{}')))
      limit p_limit)
    returning h
  )
  select array_agg(d.h) into gone from deleted d;
  if gone is null then
    return;
  end if;

  update wallet w set held = w.held - g.amount
  from (select g.wallet_id, sum(g.amount)::bigint as amount from unnest(gone) g group by 1) g
  where w.bucket = p_bucket and w.id = g.wallet_id;

  select array_agg(c.bucket), array_agg(c.owner_id), array_agg(c.period), array_agg(-g.amount)
  into s_buckets, s_owner_ids, s_periods, s_held
  from unnest(gone) g
  cross join lateral unnest(g.spend_buckets, g.spend_owner_ids, g.spend_periods)
    as c (bucket, owner_id, period);
  if s_buckets is not null then
    perform add_spend(s_buckets, s_owner_ids, s_periods,
      array_fill(0::bigint, array[cardinality(s_held)]), s_held);
  end if;

  return query
  select case when g.expires_at <= v_now then 'expired' else 'node_lost' end, count(*),
    sum(g.amount)::bigint
  from unnest(gone) g
  group by 1;
end $$;
