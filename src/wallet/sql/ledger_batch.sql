-- Everything that calls write: settle_batch, then hold_batch, in one transaction, so that a hold has the room that a
-- settlement beside it gives back. The wallets and counters of both are locked first, in order, because two walks one
-- after the other would not be. What only one kind has is null for the other.
-- Plans are made once and pinned to index look-ups, here for the functions below as well: they do not depend on the
-- statistics of tables that change shape, and a batch of one is not planned anew each time.
create or replace function ledger_batch(
  p_settles settle_item[], p_settle_limits limit_item[], p_usage json, p_promotional_is_money boolean,
  p_holds hold_item[], p_hold_limits limit_item[], p_node_id uuid, p_lease interval, p_expires_after interval
) returns table (
  kind text, item integer, state text, charged bigint, shortfall bigint, balance_before bigint,
  balance_after bigint, granted bigint, limit_owner_id uuid, ceiling bigint
)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  -- What lock_wallets does, without a call, which would be 3 % of a batch of one.
  perform 1 from wallet w
  where (w.bucket, w.id) in (
    select s.bucket, s.wallet_id from unnest(p_settles) s
    union all
    select h.bucket, h.wallet_id from unnest(p_holds) h)
  order by w.bucket, w.id
  for no key update;
  if p_settle_limits <> '{}' and p_hold_limits <> '{}' then
    perform take_spend_counters(array_agg(l.bucket), array_agg(l.owner_id), array_agg(l.period))
    from unnest(p_settle_limits || p_hold_limits) l;
  end if;

  if p_settles <> '{}' then
    return query
    select 'settle', s.item, s.state, s.charged, s.shortfall, s.balance_before, s.balance_after,
      null::bigint, null::uuid, null::bigint
    from settle_batch(p_settles, p_settle_limits, p_usage, p_promotional_is_money) s;
  end if;
  if p_holds <> '{}' then
    return query
    select 'hold', h.item, h.state, null::bigint, null::bigint, null::bigint, null::bigint, h.granted,
      h.limit_owner_id, h.ceiling
    from hold_batch(p_holds, p_hold_limits, p_node_id, p_lease, p_expires_after) h;
  end if;
end $$;
