-- settle_batch, then hold_batch, in one transaction: a hold has the room that a settlement beside it gives back.
-- The wallets and counters of both are locked first, in order, because two walks one after the other would not
-- be. What only one kind has is null for the other.
create or replace function ledger_batch(
  s_buckets smallint[], s_ids uuid[], s_wallet_ids uuid[], s_used bigint[], s_cost bigint[],
  s_limit_items integer[], s_limit_buckets smallint[], s_limit_owner_ids uuid[], s_limit_periods date[],
  s_limit_credits bigint[], s_usage json,
  h_buckets smallint[], h_ids uuid[], h_wallet_ids uuid[], h_min bigint[], h_max bigint[],
  h_limit_items integer[], h_limit_buckets smallint[], h_limit_owner_ids uuid[], h_limit_periods date[],
  h_limit_credits bigint[], h_held bigint[],
  h_node_id text, h_node_epoch bigint, h_now timestamptz, h_expires_at timestamptz
) returns table (
  kind text, item integer, state text, charged bigint, shortfall bigint, balance_before bigint,
  balance_after bigint, granted bigint, limit_owner_id uuid, ceiling bigint,
  wallet_held bigint
)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  perform 1 from wallet w
  where (w.bucket, w.id) in (
    select u.b, u.i from unnest(s_buckets || h_buckets, s_wallet_ids || h_wallet_ids) as u (b, i))
  order by w.bucket, w.id
  for no key update;
  if s_limit_items <> '{}' or h_limit_items <> '{}' then
    perform take_spend_counters(s_limit_buckets || h_limit_buckets, s_limit_owner_ids || h_limit_owner_ids,
      s_limit_periods || h_limit_periods);
  end if;

  return query
  select 'settle', s.item, s.state, s.charged, s.shortfall, s.balance_before, s.balance_after,
    null::bigint, null::uuid, null::bigint, null::bigint
  from settle_batch(s_buckets, s_ids, s_wallet_ids, s_used, s_cost, s_limit_items, s_limit_buckets,
    s_limit_owner_ids, s_limit_periods, s_limit_credits, s_usage) s;

  return query
  select 'hold', h.item, h.state, null::bigint, null::bigint, null::bigint, null::bigint, h.granted,
    h.limit_owner_id, h.ceiling, h.wallet_held
  from hold_batch(h_buckets, h_ids, h_wallet_ids, h_min, h_max, h_limit_items, h_limit_buckets,
    h_limit_owner_ids, h_limit_periods, h_limit_credits, h_held, h_node_id, h_node_epoch, h_now, h_expires_at)
    h;
end $$;
