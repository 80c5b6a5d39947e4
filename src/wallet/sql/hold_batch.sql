-- Places holds: grants as much as fits between min and max, item after item in the order given, the exact decision
-- one caller after another would get. (A prefix sum in one statement is not the same: a refused large request would
-- block a later small one.) To be called with the wallets locked (ledger_batch). States:
--   granted        the hold is open; also when the same id asks again
--   blocked        other open holds are in the way; waiting may help
--   stuck          other open holds are in the way, and their calls wait as well: this one has to give way
--   insufficient   the wallet does not have the minimum
--   limit_reached  a spend limit does not have the minimum; limit_owner_id says whose, the first in the order given
--   gone           the hold that was to grow is not open any more
--   too_late       the deadline has passed: the caller has given it up, and nothing may be held any more
--   lease_lapsed   the node has no live lease: nothing would keep the hold from being swept
--   no_wallet, conflict (the id is another wallet's hold): a bug of the caller
-- A hold may grow (held_credits): a new one gets a part of the room, so that calls beside it have room too, and an open
-- one is raised to min or more. Where it would take more than a quarter of the room, it takes its minimum or an eighth
-- of the room, whichever is more, and comes back. A hold that has min already stays as it is, so this may be repeated as
-- well. Where it has less than max, `ceiling` in the answer is what the wallet and the limits could pay for it if
-- nobody else spent anything.
-- Any number of limits may bind an item, no counter twice.
create or replace function hold_batch(
  p_holds hold_item[], p_limits limit_item[], p_node_id uuid, p_lease interval, p_expires_after interval
) returns table (
  item integer, state text, granted bigint, limit_owner_id uuid, ceiling bigint
)
language plpgsql as $$
declare
  r record;
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint;
  limit_items integer[]; l_counters integer[]; l_spent bigint[]; l_held bigint[];
  l_first integer; l integer; k integer;
  own bigint; room bigint; v_state text; v_added bigint; v_limit_owner_id uuid;
  -- Answers stand at the place of their item, so that columns zip without a join.
  o_states text[] := array_fill(null::text, array[cardinality(p_holds)]);
  o_granted bigint[] := array_fill(null::bigint, array[cardinality(p_holds)]);
  o_added bigint[] := array_fill(0::bigint, array[cardinality(p_holds)]);
  o_limit_owner_ids uuid[] := array_fill(null::uuid, array[cardinality(p_holds)]);
  o_ceilings bigint[] := o_granted;
  u_buckets smallint[]; u_ids uuid[]; u_held bigint[];
  with_limits boolean := p_limits <> '{}'; growing integer := 0; grown integer; waiting integer[] := '{}';
  -- After the locks: whoever holds them later has seen what happens here.
  v_now timestamptz := clock_timestamp(); v_now_ms bigint := extract(epoch from v_now) * 1000;
begin
  if with_limits then
    select array_agg(u.item) into limit_items from unnest(p_limits) u;
    select t.counters, t.spent, t.held into l_counters, l_spent, l_held
    from (
      select array_agg(u.bucket) as buckets, array_agg(u.owner_id) as owner_ids,
        array_agg(u.period) as periods
      from unnest(p_limits) u
    ) c
    cross join lateral take_spend_counters(c.buckets, c.owner_ids, c.periods) t;
  end if;

  for r in
    select u.ordinality::integer as item, u.*, w.posted, w.held,
      h.amount as open_amount, h.wallet_id as open_wallet_id,
      (select n.beaten_at > v_now - p_lease from gateway_node n where n.node_id = p_node_id) as has_lease
    from unnest(p_holds) with ordinality u
    left join wallet w on w.bucket = u.bucket and w.id = u.wallet_id
    left join hold h on h.bucket = u.bucket and h.id = u.id
    order by u.bucket, u.wallet_id, u.ordinality
  loop
    if w_id is distinct from r.wallet_id then
      if w_id is not null then
        u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id; u_held := u_held || w_held;
      end if;
      w_bucket := r.bucket; w_id := r.wallet_id; w_posted := r.posted; w_held := r.held;
    end if;

    own := coalesce(r.open_amount, 0); room := w_posted - w_held; v_added := 0; v_limit_owner_id := null;
    if with_limits then
      l_first := array_position(limit_items, r.item); l := l_first;
      while limit_items[l] = r.item loop
        k := l_counters[l];
        room := least(room, (p_limits[l]).limit_credits - l_spent[k] - l_held[k]);
        if v_limit_owner_id is null and (p_limits[l]).limit_credits - l_spent[k] < r.min_credits then
          v_limit_owner_id := (p_limits[l]).owner_id;
        end if;
        l := l + 1;
      end loop;
    end if;

    if w_posted is null then
      v_state := 'no_wallet';
    elsif r.open_wallet_id <> r.wallet_id then
      v_state := 'conflict';
    elsif r.has_lease is not true then
      v_state := 'lease_lapsed';
    elsif own >= r.min_credits or own > 0 and r.held_credits is null then
      v_state := 'granted';
    elsif own = 0 and r.held_credits > 0 then
      v_state := 'gone';
    elsif v_now_ms > r.deadline_ms then
      v_state := 'too_late';
    elsif room >= r.min_credits - own then
      v_state := 'granted';
      v_added := least(r.max_credits - own, room);
      if r.held_credits is not null and v_added > room / 4 then
        v_added := least(v_added, greatest(r.min_credits - own, room / 8));
      end if;
      w_held := w_held + v_added;
      if own > 0 then
        growing := growing + 1;
      end if;
      if with_limits and l_first is not null then
        foreach k in array l_counters[l_first:l - 1] loop
          l_held[k] := l_held[k] + v_added;
        end loop;
      end if;
    elsif w_posted < r.min_credits then
      v_state := 'insufficient';
    elsif v_limit_owner_id is not null then
      v_state := 'limit_reached';
      o_limit_owner_ids[r.item] := v_limit_owner_id;
    else
      v_state := 'blocked';
      if r.waits and own > 0 then
        waiting := waiting || r.item;
      end if;
    end if;
    o_states[r.item] := v_state; o_added[r.item] := v_added;
    if v_state = 'granted' then
      o_granted[r.item] := own + v_added;
    end if;
    if r.held_credits > 0 or r.held_credits = 0 and o_granted[r.item] is distinct from r.max_credits then
      o_ceilings[r.item] := w_posted;
      if with_limits and l_first is not null then
        for i in l_first..l - 1 loop
          o_ceilings[r.item] := least(o_ceilings[r.item],
            (p_limits[i]).limit_credits - l_spent[l_counters[i]]);
        end loop;
      end if;
    end if;
  end loop;
  if w_id is not null then
    u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id; u_held := u_held || w_held;
  end if;

  update wallet w set held = u.held
  from unnest(u_buckets, u_ids, u_held) as u (bucket, id, held)
  where w.bucket = u.bucket and w.id = u.id and w.held <> u.held;

  if growing > 0 then
    update hold h set amount = o.granted, wanted = null
    from unnest(p_holds) with ordinality u
    join unnest(o_granted, o_added) with ordinality as o (granted, added, item) on o.item = u.ordinality
    where o.added > 0 and o.granted > o.added and h.bucket = u.bucket and h.id = u.id;
    get diagnostics grown = row_count;
    if grown <> growing then
      raise exception 'one hold grew twice in a batch' using errcode = 'integrity_constraint_violation';
    end if;
  end if;

  with limits as materialized (
    select u.item, array_agg(u.bucket order by u.ordinality) as buckets,
      array_agg(u.owner_id order by u.ordinality) as owner_ids,
      array_agg(u.period order by u.ordinality) as periods
    from unnest(p_limits) with ordinality u
    group by u.item
  )
  insert into hold (bucket, id, wallet_id, amount, node_id, expires_at, spend_buckets, spend_owner_ids,
    spend_periods)
  select u.bucket, u.id, u.wallet_id, u.granted, p_node_id, v_now + p_expires_after, limits.buckets,
    limits.owner_ids, limits.periods
  from rows from (unnest(p_holds), unnest(o_granted, o_added)) with ordinality
    as u (bucket, id, wallet_id, min_credits, max_credits, held_credits, waits, deadline_ms, granted,
      added, item)
  left join limits on limits.item = u.item
  where u.added > 0 and u.granted = u.added;

  if with_limits then
    perform add_spend(array_agg(u.bucket), array_agg(u.owner_id), array_agg(u.period),
      array_agg(0::bigint), array_agg(o_added[u.item]))
    from unnest(p_limits) u
    where o_added[u.item] > 0;
  end if;

  if waiting <> '{}' then
    update hold h set wanted = u.min_credits
    from unnest(p_holds) with ordinality u
    where u.ordinality = any (waiting) and h.bucket = u.bucket and h.id = u.id
      and h.wanted is distinct from u.min_credits;
    foreach k in array waiting loop
      if waits_in_vain(p_holds[k], array(select u from unnest(p_limits) u where u.item = k)) then
        o_states[k] := 'stuck';
        -- It ends now: those who wait beside it do not wait in vain.
        update hold h set wanted = null from unnest(p_holds[k:k]) u where h.bucket = u.bucket and h.id = u.id;
      end if;
    end loop;
  end if;

  return query
  select o.ordinality::integer, o.state, o.granted, o.limit_owner_id, o.ceiling
  from unnest(o_states, o_granted, o_limit_owner_ids, o_ceilings) with ordinality
    as o (state, granted, limit_owner_id, ceiling);
end $$;
