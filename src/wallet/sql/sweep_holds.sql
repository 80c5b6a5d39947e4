-- Gives back holds that nobody will resolve: past their time, or of a node without a live lease. The
-- wallets are locked as everywhere, and the delete decides: a settle that came first leaves nothing here.
create or replace function sweep_holds(p_buckets smallint[], p_now timestamptz, p_limit integer)
returns table (reason text, holds bigint, credits bigint)
language plpgsql as $$
declare
  c_buckets smallint[]; c_ids uuid[]; c_wallet_ids uuid[]; gone hold[];
  s_buckets smallint[]; s_owner_ids uuid[]; s_periods date[]; s_held bigint[];
begin
  select array_agg(c.bucket), array_agg(c.id), array_agg(c.wallet_id) into c_buckets, c_ids, c_wallet_ids
  from (
    select h.bucket, h.id, h.wallet_id
    from hold h
    left join gateway_node n on n.node_id = h.node_id and n.epoch = h.node_epoch and n.lease_until > p_now
    where h.bucket = any (p_buckets) and (h.expires_at <= p_now or n.node_id is null)
    limit p_limit
  ) c;
  if c_ids is null then
    return;
  end if;

  perform 1 from wallet w
  where (w.bucket, w.id) in (select b, i from unnest(c_buckets, c_wallet_ids) as u (b, i))
  order by w.bucket, w.id
  for no key update;

  with deleted as (
    delete from hold h
    using unnest(c_buckets, c_ids) as c (bucket, id)
    where h.bucket = c.bucket and h.id = c.id
    returning h
  )
  select array_agg(d.h) into gone from deleted d;

  update wallet w set held = w.held - g.amount
  from (select g.bucket, g.wallet_id, sum(g.amount)::bigint as amount from unnest(gone) g group by 1, 2) g
  where w.bucket = g.bucket and w.id = g.wallet_id;

  select array_agg(c.bucket), array_agg(c.owner_id), array_agg(c.period), array_agg(-g.amount)
  into s_buckets, s_owner_ids, s_periods, s_held
  from unnest(gone) g
  cross join lateral unnest(g.spend_buckets, g.spend_owner_ids, g.spend_periods)
    as c (bucket, owner_id, period);
  if s_buckets is not null then
    perform lock_spend_counters(s_buckets, s_owner_ids, s_periods);
    perform add_spend(s_buckets, s_owner_ids, s_periods,
      array_fill(0::bigint, array[cardinality(s_held)]), s_held);
  end if;

  return query
  select case when g.expires_at <= p_now then 'expired' else 'node_lost' end, count(*),
    sum(g.amount)::bigint
  from unnest(gone) g
  group by 1;
end $$;
