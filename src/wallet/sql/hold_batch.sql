-- Places holds: grants as much as fits between p_min and p_max, item after item in the order given, the
-- exact decision one caller after another would get. (A prefix sum in one statement is not the same: a
-- refused large request would block a later small one.) States:
--   granted        the hold is open; also when the same id asks again
--   blocked        other open holds are in the way; waiting may help
--   insufficient   the wallet does not have the minimum
--   limit_reached  a spend limit does not have the minimum; limit_owner_id says whose, the first in the
--                  order given
--   gone           the hold that was to grow is not open any more
--   no_wallet, conflict (the id is another wallet's hold): a bug of the caller
-- An item with p_held has a hold that grows. With 0 there is none yet, and it gets a part of the room, so that
-- calls beside it have room too; otherwise its open hold is raised to p_min or more. A hold that has p_min already
-- stays as it is, so this may be repeated as well. Where it has less than
-- p_max, `ceiling` in the answer is what the wallet and the limits could pay for it if nobody else spent anything,
-- and `wallet_held` what all calls hold.
-- Any number of limits may bind an item: p_limit_items has the place of the item that each limit binds, those
-- of one item side by side and no counter twice.
-- Plans are made once and pinned to index look-ups: they do not depend on the statistics of tables that
-- change shape, and a batch of one is not planned anew each time.
create or replace function hold_batch(
  p_buckets smallint[], p_ids uuid[], p_wallet_ids uuid[], p_min bigint[], p_max bigint[],
  p_limit_items integer[], p_limit_buckets smallint[], p_limit_owner_ids uuid[], p_limit_periods date[],
  p_limit_credits bigint[], p_held bigint[],
  p_node_id text, p_node_epoch bigint, p_now timestamptz, p_expires_at timestamptz
) returns table (item integer, state text, granted bigint, limit_owner_id uuid, ceiling bigint,
  wallet_held bigint)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  r record;
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint;
  l_counters integer[]; l_spent bigint[]; l_held bigint[]; l_first integer; l integer; k integer;
  room bigint; v_state text; v_granted bigint; v_added bigint; v_limit_owner_id uuid;
  -- Answers stand at the place of their item, so that columns zip without a join.
  o_states text[] := array_fill(null::text, array[cardinality(p_ids)]);
  o_granted bigint[] := array_fill(null::bigint, array[cardinality(p_ids)]);
  -- Of holds that grow and do not have all they may; mostly there are none.
  nothing bigint[] := o_granted; o_added bigint[]; o_ceilings bigint[]; o_wallet_held bigint[];
  o_limit_owner_ids uuid[] := array_fill(null::uuid, array[cardinality(p_ids)]);
  u_buckets smallint[]; u_ids uuid[]; u_held bigint[];
  with_limits boolean := p_limit_items <> '{}';
  expected integer := 0; raised integer;
begin
  -- A statement of its own: the next one then sees what this one waited for.
  perform 1 from wallet w
  where (w.bucket, w.id) in (select b, i from unnest(p_buckets, p_wallet_ids) as u (b, i))
  order by w.bucket, w.id
  for no key update;

  if with_limits then
    select t.counters, t.spent, t.held into l_counters, l_spent, l_held
    from take_spend_counters(p_limit_buckets, p_limit_owner_ids, p_limit_periods) t;
  end if;

  for r in
    select u.ordinality::integer as item, u.*, w.posted, w.held,
      h.amount as open_amount, h.wallet_id as open_wallet_id
    from unnest(p_buckets, p_ids, p_wallet_ids, p_min, p_max, p_held) with ordinality
      as u (bucket, id, wallet_id, min, max, growing_from)
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

    room := w_posted - w_held; v_granted := null; v_added := 0; v_limit_owner_id := null;
    if with_limits then
      l_first := array_position(p_limit_items, r.item); l := l_first;
      while p_limit_items[l] = r.item loop
        k := l_counters[l];
        room := least(room, p_limit_credits[l] - l_spent[k] - l_held[k]);
        if v_limit_owner_id is null and p_limit_credits[l] - l_spent[k] < r.min then
          v_limit_owner_id := p_limit_owner_ids[l];
        end if;
        l := l + 1;
      end loop;
    end if;

    if w_posted is null then
      v_state := 'no_wallet';
    elsif r.open_wallet_id <> r.wallet_id then
      v_state := 'conflict';
      v_granted := r.open_amount;
    elsif r.open_amount >= r.min or r.open_amount is not null and r.growing_from is null then
      v_state := 'repeated';
      v_granted := r.open_amount;
    elsif r.open_amount is null and r.growing_from > 0 then
      v_state := 'gone';
    elsif room >= r.min - coalesce(r.open_amount, 0) then
      v_state := case when r.open_amount is null then 'granted' else 'grown' end;
      v_added := least(r.max - coalesce(r.open_amount, 0), room);
      -- A small part of the room is not worth a second question; of a large one, each takes an eighth.
      if r.growing_from is not null and v_added > room / 4 then
        v_added := least(v_added, greatest(r.min - coalesce(r.open_amount, 0), room / 8));
      end if;
      v_granted := coalesce(r.open_amount, 0) + v_added;
      w_held := w_held + v_added;
      if with_limits and l_first is not null then
        foreach k in array l_counters[l_first:l - 1] loop
          l_held[k] := l_held[k] + v_added;
        end loop;
      end if;
    elsif w_posted < r.min then
      v_state := 'insufficient';
    elsif v_limit_owner_id is not null then
      v_state := 'limit_reached';
      o_limit_owner_ids[r.item] := v_limit_owner_id;
    else
      v_state := 'blocked';
    end if;
    o_states[r.item] := v_state; o_granted[r.item] := v_granted;

    if r.growing_from > 0 or r.growing_from = 0 and v_granted is distinct from r.max then
      if o_added is null then
        o_added := nothing; o_ceilings := nothing; o_wallet_held := nothing;
      end if;
      o_added[r.item] := v_added; o_ceilings[r.item] := w_posted; o_wallet_held[r.item] := w_held;
      if with_limits and l_first is not null then
        for i in l_first..l - 1 loop
          o_ceilings[r.item] := least(o_ceilings[r.item], p_limit_credits[i] - l_spent[l_counters[i]]);
        end loop;
      end if;
      if v_state = 'grown' then
        expected := expected + 1;
      end if;
    end if;
  end loop;
  if w_id is not null then
    u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id; u_held := u_held || w_held;
  end if;

  update wallet w set held = u.held
  from unnest(u_buckets, u_ids, u_held) as u (bucket, id, held)
  where w.bucket = u.bucket and w.id = u.id and w.held <> u.held;

  with limits as materialized (
    select u.item, array_agg(u.bucket order by u.place) as buckets,
      array_agg(u.owner_id order by u.place) as owner_ids, array_agg(u.period order by u.place) as periods
    from unnest(p_limit_items, p_limit_buckets, p_limit_owner_ids, p_limit_periods) with ordinality
      as u (item, bucket, owner_id, period, place)
    group by u.item
  )
  insert into hold (bucket, id, wallet_id, amount, node_id, node_epoch, created_at, expires_at,
    spend_buckets, spend_owner_ids, spend_periods)
  select o.bucket, o.id, o.wallet_id, o.granted, p_node_id, p_node_epoch, p_now, p_expires_at,
    limits.buckets, limits.owner_ids, limits.periods
  from unnest(p_buckets, p_ids, p_wallet_ids, o_states, o_granted) with ordinality
    as o (bucket, id, wallet_id, state, granted, item)
  left join limits on limits.item = o.item
  where o.state = 'granted';

  if expected > 0 then
    update hold h set amount = o.granted
    from unnest(p_buckets, p_ids, o_states, o_granted) as o (bucket, id, state, granted)
    where o.state = 'grown' and h.bucket = o.bucket and h.id = o.id;
    get diagnostics raised = row_count;
    if raised <> expected then
      raise exception 'one hold was to grow twice in a batch' using errcode = 'integrity_constraint_violation';
    end if;
  end if;

  if with_limits then
    perform add_spend(array_agg(u.bucket), array_agg(u.owner_id), array_agg(u.period),
      array_agg(0::bigint), array_agg(coalesce(o_added[u.item], o_granted[u.item])))
    from unnest(p_limit_items, p_limit_buckets, p_limit_owner_ids, p_limit_periods)
      as u (item, bucket, owner_id, period)
    where o_states[u.item] in ('granted', 'grown');
  end if;

  return query
  select o.ordinality::integer, case when o.state in ('repeated', 'grown') then 'granted' else o.state end,
    o.granted, o.limit_owner_id, o.ceiling, o.wallet_held
  from unnest(o_states, o_granted, o_limit_owner_ids, o_ceilings, o_wallet_held) with ordinality
    as o (state, granted, limit_owner_id, ceiling, wallet_held);
end $$;
