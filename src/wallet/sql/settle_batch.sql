-- Resolves holds: an item without used_credits gives the hold back, else what was used is charged and the rest given
-- back, with the usage row, the earning and the outbox row, in one transaction. To be called with the wallets locked
-- (ledger_batch). States:
--   settled   charged; again when the same id asks again, with the numbers of the first time
--   late      the hold was gone (expired, or its node was declared dead): charged what the wallet has
--   voided    given back; gone: there was nothing to give back
--   no_wallet, conflict (the id is another wallet's): a bug of the caller
-- Never more than the wallet has free, and never more than the spend limits leave, which are given as to
-- hold_batch and are those that the hold was placed under. Cost is covered first; cost that is not covered is
-- written off, a markup that is not covered is not earned. Promotional credits are spent first.
create or replace function settle_batch(
  p_settles settle_item[], p_limits limit_item[], p_usage json, p_promotional_is_money boolean
) returns table (
  item integer, state text, charged bigint, shortfall bigint, balance_before bigint, balance_after bigint
)
language plpgsql as $$
declare
  r record; e record;
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint; w_seq bigint; w_at timestamptz;
  w_promotional bigint;
  now_at timestamptz;
  limit_items integer[]; limit_owner_ids uuid[]; limit_periods date[];
  l_counters integer[]; l_spent bigint[]; l_held bigint[]; l_first integer; l_last integer;
  k integer; room bigint;
  v_state text; v_charged bigint; v_used bigint; v_before bigint; v_released bigint;
  v_promotional bigint;
  -- Each at the place of its item, so that both zip without a join.
  outcomes settle_outcome[] := array_fill(null::settle_outcome, array[cardinality(p_settles)]);
  u_buckets smallint[]; u_ids uuid[]; u_posted bigint[]; u_held bigint[]; u_seqs bigint[];
  u_ats timestamptz[]; u_promotional bigint[];
  expected integer := 0; deleted integer;
  with_limits boolean := p_limits <> '{}';
begin
  now_at := ledger_now();

  if with_limits then
    select c.items, c.owner_ids, c.periods, t.counters, t.spent, t.held
    into limit_items, limit_owner_ids, limit_periods, l_counters, l_spent, l_held
    from (
      select array_agg(u.item) as items, array_agg(u.bucket) as buckets, array_agg(u.owner_id) as owner_ids,
        array_agg(u.period) as periods
      from unnest(p_limits) u
    ) c
    cross join lateral take_spend_counters(c.buckets, c.owner_ids, c.periods) t;
  end if;

  for r in
    select u.ordinality::integer as item, u.*, w.posted, w.held, w.promotional, w.seq, w.last_posted_at,
      h.amount as open_amount, h.wallet_id as open_wallet_id,
      h.spend_owner_ids as open_owner_ids, h.spend_periods as open_periods
    from unnest(p_settles) with ordinality u
    left join wallet w on w.bucket = u.bucket and w.id = u.wallet_id
    left join hold h on h.bucket = u.bucket and h.id = u.id
    order by u.bucket, u.wallet_id, u.ordinality
  loop
    if w_id is distinct from r.wallet_id then
      if w_id is not null then
        u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
        u_posted := u_posted || w_posted; u_held := u_held || w_held; u_seqs := u_seqs || w_seq;
        u_ats := u_ats || w_at; u_promotional := u_promotional || w_promotional;
      end if;
      w_bucket := r.bucket; w_id := r.wallet_id;
      w_posted := r.posted; w_held := r.held; w_promotional := r.promotional; w_seq := r.seq;
      w_at := greatest(now_at, r.last_posted_at);
    end if;

    v_before := w_posted; v_charged := 0; v_promotional := 0; v_released := 0; v_used := coalesce(r.used_credits, 0);
    l_first := null;
    if with_limits then
      l_first := array_position(limit_items, r.item); l_last := l_first;
      while limit_items[l_last + 1] = r.item loop
        l_last := l_last + 1;
      end loop;
    end if;
    if r.open_amount is not null and (l_first is null) <> (r.open_owner_ids is null)
      or r.open_owner_ids <> limit_owner_ids[l_first:l_last]
      or r.open_periods <> limit_periods[l_first:l_last]
    then
      raise exception 'hold % was placed under other spend limits', r.id
      using errcode = 'integrity_constraint_violation';
    end if;

    if w_posted is null then
      v_state := 'no_wallet';
    elsif r.open_wallet_id <> r.wallet_id then
      v_state := 'conflict';
    elsif r.open_amount is null and r.used_credits is null then
      v_state := 'gone';
    else
      v_state := case when r.used_credits is null then 'voided' when r.open_amount is null then 'late'
        else 'settled' end;
      if v_state = 'late' then
        select x.wallet_id, x.state, x.credits_used, x.shortfall_credits, x.balance_before,
          x.balance_after into e
        from usage_event x
        where x.bucket = r.bucket and x.id = r.id and x.at = id_time(r.id);
        if found then
          outcomes[r.item] := (
            case when e.wallet_id = r.wallet_id then 'repeated_' || e.state else 'conflict' end,
            e.credits_used, e.shortfall_credits, e.balance_before, e.balance_after, null, null, 0, null, null);
          continue;
        end if;
      else
        v_released := r.open_amount;
        expected := expected + 1;
      end if;

      w_held := w_held - v_released;
      room := w_posted - w_held;
      if l_first is not null then
        for l in l_first..l_last loop
          k := l_counters[l];
          l_held[k] := l_held[k] - v_released;
          room := least(room, greatest(0, (p_limits[l]).limit_credits - l_spent[k] - l_held[k]));
        end loop;
      end if;
      v_charged := least(v_used, room);
      w_posted := w_posted - v_charged;
      v_promotional := least(w_promotional, v_charged);
      w_promotional := w_promotional - v_promotional;
      if l_first is not null then
        foreach k in array l_counters[l_first:l_last] loop
          l_spent[k] := l_spent[k] + v_charged;
        end loop;
      end if;
      if v_charged > 0 then
        w_seq := w_seq + 1;
      end if;
    end if;
    outcomes[r.item] := (v_state, v_charged, v_used - v_charged, v_before, w_posted, w_seq, w_at, v_released,
      v_promotional, w_promotional);
  end loop;
  if w_id is not null then
    u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
    u_posted := u_posted || w_posted; u_held := u_held || w_held; u_seqs := u_seqs || w_seq;
    u_ats := u_ats || w_at; u_promotional := u_promotional || w_promotional;
  end if;

  update wallet w set posted = u.posted, held = u.held, promotional = u.promotional, seq = u.seq,
    last_posted_at = case when w.seq = u.seq then w.last_posted_at else u.at end
  from unnest(u_buckets, u_ids, u_posted, u_held, u_promotional, u_seqs, u_ats)
    as u (bucket, id, posted, held, promotional, seq, at)
  where w.bucket = u.bucket and w.id = u.id and (w.held <> u.held or w.seq <> u.seq);

  delete from hold h
  using rows from (unnest(p_settles), unnest(outcomes)) as o (bucket, id, wallet_id, used_credits, cost_credits,
    state, charged, shortfall, balance_before, balance_after, wallet_seq, posted_at, released, promotional,
    promotional_after)
  where o.released > 0 and h.bucket = o.bucket and h.id = o.id;
  get diagnostics deleted = row_count;
  if deleted <> expected then
    raise exception 'one hold was resolved twice in a batch' using errcode = 'integrity_constraint_violation';
  end if;

  if with_limits then
    perform add_spend(array_agg(u.bucket), array_agg(u.owner_id), array_agg(u.period),
      array_agg((outcomes[u.item]).charged), array_agg(-(outcomes[u.item]).released))
    from unnest(p_limits) u
    where (outcomes[u.item]).state in ('settled', 'late', 'voided');
  end if;

  perform record_usage(p_settles, outcomes, p_usage, p_promotional_is_money);

  return query
  select o.ordinality::integer, replace(o.state, 'repeated_', ''), o.charged, o.shortfall, o.balance_before,
    o.balance_after
  from unnest(outcomes) with ordinality o;
end $$;
