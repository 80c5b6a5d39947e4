-- The wallet: balances, open holds and the journal they must always agree with.
-- docs/ledger.md says why this can be trusted. Three rules hold for everything below:
--   * Whoever changes a wallet, its holds or its chain locks the wallet's row first, several in the order
--     (bucket, id). There are no foreign keys to wallet: they would lock the hot row a second time.
--   * Every row carries its wallet's bucket, and no journal transaction spans two buckets.
--   * Time comes from the caller or from the id (UUIDv7), never from the server's clock.

-- Constraints call these two for every row they check. In plpgsql, because the body of an SQL function is read from
-- the catalog and planned again by each statement that writes the table, and a small batch has few rows to share
-- that.

-- The top 6 of the 12 bits after the version: 0 to 63.
create function wallet_bucket(id uuid) returns smallint
language plpgsql immutable strict parallel safe as $$
begin
  return ((get_byte(uuid_send(id), 6) & 15) << 2) | (get_byte(uuid_send(id), 7) >> 6);
end $$;

-- The time in an id. Partitioned tables take `at` from it, so that (id, at) is as unique as id.
create function id_time(id uuid) returns timestamptz
language plpgsql immutable strict parallel safe as $$
begin
  return to_timestamp(('x' || encode(substring(uuid_send(id) for 6), 'hex'))::bit(48)::bigint::double precision
    / 1000);
end $$;

create table wallet (
  posted bigint not null,
  held bigint not null,
  seq bigint not null,
  opened_at timestamptz not null,
  bucket smallint not null,
  -- The account's id: one wallet for each account.
  id uuid not null,
  primary key (bucket, id),
  constraint wallet_bucket_is_of_id check (bucket = wallet_bucket(id)),
  constraint wallet_is_never_negative check (posted >= 0),
  constraint wallet_held_is_never_negative check (held >= 0),
  constraint wallet_held_is_covered check (held <= posted),
  constraint wallet_fits_json check (posted <= 9007199254740991)
-- Room on the page and no index on what changes: updates stay heap-only.
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Open holds only: settling, voiding and expiry delete the row, so nothing can be resolved twice.
create table hold (
  amount bigint not null,
  node_epoch bigint not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  bucket smallint not null,
  id uuid not null,
  wallet_id uuid not null,
  node_id text not null,
  -- The counters of the spend limits that this hold is part of, null if there are none.
  spend_buckets smallint[],
  spend_owner_ids uuid[],
  spend_periods date[],
  primary key (bucket, id),
  constraint hold_bucket_is_of_id check (bucket = wallet_bucket(id)),
  constraint hold_bucket_is_of_wallet check (bucket = wallet_bucket(wallet_id)),
  constraint hold_amount_is_positive check (amount > 0)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What has been spent and is held under one spend limit in one period. The owner is a key, or the connection
-- of a user with an app; the bucket is that of the account whose limit it is. `period` is the first day of
-- the day or month (UTC), and 1970-01-01 for a limit in total.
create table spend_counter (
  spent bigint not null,
  held bigint not null,
  bucket smallint not null,
  owner_id uuid not null,
  period date not null,
  primary key (bucket, owner_id, period),
  constraint spend_counter_is_never_negative check (spent >= 0 and held >= 0)
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- One row for each process that may place holds. A hold whose node has no live lease is given back.
create table gateway_node (
  node_id text primary key,
  epoch bigint not null,
  lease_until timestamptz not null
) with (fillfactor = 50);

-- The book. Accounts: wallet (owner = wallet), transit (owner = transfer), dev_payable (owner = developer),
-- revenue, promo, external, write_off, and those of the payouts. Only wallets have a balance row, so no
-- second row is hot.
create table journal (
  at timestamptz not null,
  amount bigint not null,
  wallet_seq bigint,
  balance_after bigint,
  bucket smallint not null,
  line smallint not null,
  tx uuid not null,
  owner uuid,
  account text not null,
  kind text not null,
  description text,
  primary key (bucket, tx, line, at),
  constraint journal_bucket_is_of_tx check (bucket = wallet_bucket(tx)),
  constraint journal_time_is_of_tx check (at = id_time(tx)),
  constraint journal_amount_is_not_zero check (amount <> 0),
  constraint journal_wallet_line_is_whole check (
    (account = 'wallet') = (wallet_seq is not null)
    and (account = 'wallet') = (balance_after is not null)
    and (account <> 'wallet' or owner is not null)
  ),
  constraint journal_wallet_is_never_negative check (balance_after >= 0)
) partition by range (at);
create unique index journal_wallet_chain on journal (bucket, owner, wallet_seq, at)
where wallet_seq is not null;

create table usage_event (
  at timestamptz not null,
  credits_used bigint not null,
  cost_credits bigint not null,
  markup_credits bigint not null,
  shortfall_credits bigint not null,
  balance_before bigint not null,
  balance_after bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  bucket smallint not null,
  -- The id of the hold, of the journal transaction and of the generation.
  id uuid not null,
  wallet_id uuid not null,
  -- Who made the app or the key, and earns the markup.
  developer_id uuid,
  key_id uuid,
  estimated boolean not null,
  state text not null,
  billing_mode text not null,
  model text not null,
  client_id text,
  external_user_id text,
  -- What only some models have: seconds, characters, finish reason.
  details jsonb,
  primary key (bucket, id, at),
  constraint usage_event_state_is_known check (state in ('settled', 'late')),
  constraint usage_event_billing_mode_is_known check (billing_mode in ('developer', 'user')),
  constraint usage_event_adds_up check (
    balance_before - credits_used = balance_after and credits_used >= 0 and balance_after >= 0
  ),
  constraint usage_event_time_is_of_id check (at = id_time(id)),
  constraint usage_event_bucket_is_of_wallet check (bucket = wallet_bucket(wallet_id))
) partition by range (at);
create index usage_event_by_wallet on usage_event (bucket, wallet_id, id desc);

-- The markup of a call, until a payout takes it. The bucket is the payer's.
create table developer_earning (
  amount bigint not null,
  usage_at timestamptz not null,
  bucket smallint not null,
  id uuid not null,
  developer_id uuid not null,
  payout_id uuid,
  primary key (bucket, id),
  constraint developer_earning_is_positive check (amount > 0)
);
create index developer_earning_unpaid on developer_earning (developer_id, usage_at) include (amount)
where payout_id is null;

-- What happened to a wallet or its account, in the transaction in which it happened. A dispatcher fans it out.
create table outbox (
  id bigint generated always as identity,
  balance_before bigint,
  balance_after bigint,
  at timestamptz not null,
  bucket smallint not null,
  wallet_id uuid not null,
  -- The journal transaction, usage event or connection behind it.
  source_id uuid not null,
  kind text not null,
  payload jsonb not null,
  primary key (bucket, id),
  -- A connection changes no balance. Everything else does, and says from what to what.
  constraint outbox_balances_are_whole check (
    kind in ('user.connected', 'user.disconnected')
    or (balance_before is not null and balance_after is not null)
  )
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Answers already given, by Idempotency-Key. The bucket is that of the principal's wallet.
create table idempotency (
  created_at timestamptz not null,
  status smallint,
  bucket smallint not null,
  principal uuid not null,
  endpoint text not null,
  key text not null,
  body_hash bytea not null,
  response text,
  primary key (bucket, principal, endpoint, key),
  constraint idempotency_key_is_short check (length(key) between 1 and 255)
);
create index idempotency_by_age on idempotency (created_at);

-- Append-only, and balanced: refused here, whoever asks.
create function journal_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the journal is append-only' using errcode = 'restrict_violation';
end $$;
create trigger journal_is_append_only before update or delete on journal
for each row execute function journal_is_append_only();
create trigger journal_is_never_truncated before truncate on journal
for each statement execute function journal_is_append_only();

create function journal_sums_to_zero() returns trigger language plpgsql as $$
declare
  broken uuid;
begin
  select tx into broken from new_lines group by bucket, tx having sum(amount) <> 0 limit 1;
  if broken is not null then
    raise exception 'the lines of journal transaction % do not sum to zero', broken
    using errcode = 'check_violation', constraint = 'journal_sums_to_zero';
  end if;
  return null;
end $$;
create trigger journal_sums_to_zero after insert on journal
referencing new table as new_lines
for each statement execute function journal_sums_to_zero();

revoke all on journal from public;
revoke update, delete, truncate on journal from current_user;

-- Partitions: one a month, made ahead of time. DEFAULT catches what nobody foresaw; a row in it is an alarm.
create table journal_default partition of journal default;
create table usage_event_default partition of usage_event default;

-- A trigger with a transition table watches the table that was named, so each partition gets its own: an
-- insert straight into a partition is held to the same rule.
create function guard_journal_partition(name text) returns void language plpgsql as $$
begin
  execute format(
    'create trigger journal_sums_to_zero after insert on %I referencing new table as new_lines
     for each statement execute function journal_sums_to_zero()', name);
  execute format(
    'create trigger journal_is_never_truncated before truncate on %I
     for each statement execute function journal_is_append_only()', name);
  execute format('revoke update, delete, truncate on %I from current_user', name);
end $$;
select guard_journal_partition('journal_default');

-- Makes the partitions of the month of p_from and of the p_months after it, and of every month that has
-- rows in DEFAULT; answers the new names. A new partition locks its parent for a moment. Behind a long
-- reader that moment would queue every settle, so it gives up soon: with two months in hand, the next try is
-- early enough.
-- PostgreSQL makes no partition for a month of which DEFAULT has rows. These cannot be deleted either, so
-- DEFAULT is set aside whole, its rows are posted again through the parent, under all its guards, and the
-- table that was set aside is dropped if every row arrived: all in one transaction.
create function make_ledger_partitions(p_from timestamptz, p_months integer) returns setof text
language plpgsql set lock_timeout = '250ms' as $$
declare
  parent text; child text; months timestamp[]; month timestamp;
  stray_months timestamp[]; strays bigint; moved bigint;
begin
  -- Two processes may come here at once; the second then finds the work done.
  perform pg_advisory_xact_lock(7233003);
  select array_agg(date_trunc('month', p_from at time zone 'UTC') + make_interval(months => i)) into months
  from generate_series(0, p_months) i;
  foreach parent in array array['journal', 'usage_event'] loop
    execute format('select array_agg(distinct date_trunc(''month'', at at time zone ''UTC'')) from %I',
      parent || '_default') into stray_months;
    if stray_months is not null then
      execute format('alter table %I detach partition %I', parent, parent || '_default');
      execute format('alter table %I rename to %I', parent || '_default', parent || '_stray');
      execute format('create table %I partition of %I default', parent || '_default', parent);
      if parent = 'journal' then
        perform guard_journal_partition('journal_default');
      end if;
    end if;

    foreach month in array months || stray_months loop
      child := parent || to_char(month, '"_y"YYYY"m"MM');
      continue when to_regclass(child) is not null;
      execute format('create table %I partition of %I for values from (%L) to (%L)',
        child, parent, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
      if parent = 'journal' then
        perform guard_journal_partition(child);
      end if;
      return next child;
    end loop;

    if stray_months is not null then
      execute format('select count(*) from %I', parent || '_stray') into strays;
      execute format('insert into %I select * from %I', parent, parent || '_stray');
      get diagnostics moved = row_count;
      if moved <> strays then
        raise exception '% of % rows of % arrived', moved, strays, parent;
      end if;
      execute format('drop table %I', parent || '_stray');
    end if;
  end loop;
end $$;
select make_ledger_partitions(now(), 2);

-- Posts movements other than usage: item i moves p_amounts[i] into the wallet (out of it if negative)
-- against a counter account. Answers one row for each item: posted, repeated (the same id was posted
-- before), no_wallet, insufficient or overflow. Nothing is written for the last three.
create function post_batch(
  p_buckets smallint[], p_tx uuid[], p_wallet_ids uuid[], p_amounts bigint[], p_kinds text[],
  p_counter_accounts text[], p_counter_owners uuid[], p_descriptions text[], p_events text[]
) returns table (item integer, state text, balance_before bigint, balance_after bigint)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  r record;
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint; w_seq bigint;
  o_items integer[]; o_states text[]; o_before bigint[]; o_after bigint[]; o_seqs bigint[];
  u_buckets smallint[]; u_ids uuid[]; u_posted bigint[]; u_seqs bigint[];
begin
  perform 1 from wallet w
  where (w.bucket, w.id) in (select b, i from unnest(p_buckets, p_wallet_ids) as u (b, i))
  order by w.bucket, w.id
  for no key update;

  for r in
    select u.ordinality::integer as item, u.bucket, u.wallet_id, u.tx, u.amount,
      w.posted, w.held, w.seq, j.balance_after as j_after, j.amount as j_amount
    from unnest(p_buckets, p_tx, p_wallet_ids, p_amounts) with ordinality
      as u (bucket, tx, wallet_id, amount)
    left join wallet w on w.bucket = u.bucket and w.id = u.wallet_id
    left join journal j on j.bucket = u.bucket and j.tx = u.tx and j.at = id_time(u.tx) and j.line = 1
    order by u.bucket, u.wallet_id, u.ordinality
  loop
    if w_id is distinct from r.wallet_id then
      if w_id is not null then
        u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
        u_posted := u_posted || w_posted; u_seqs := u_seqs || w_seq;
      end if;
      w_bucket := r.bucket; w_id := r.wallet_id;
      w_posted := r.posted; w_held := r.held; w_seq := r.seq;
    end if;
    o_items := o_items || r.item;
    if w_posted is null then
      o_states := o_states || 'no_wallet'::text;
    elsif r.j_after is not null then
      if r.j_amount <> r.amount then
        raise exception 'journal transaction % exists with another amount', r.tx
        using errcode = 'unique_violation', constraint = 'journal_pkey';
      end if;
      o_states := o_states || 'repeated'::text;
      o_before := o_before || r.j_after - r.j_amount; o_after := o_after || r.j_after;
      o_seqs := o_seqs || null::bigint;
      continue;
    elsif r.amount < 0 and w_posted - w_held + r.amount < 0 then
      o_states := o_states || 'insufficient'::text;
    elsif w_posted + r.amount > 9007199254740991 then
      o_states := o_states || 'overflow'::text;
    else
      o_states := o_states || 'posted'::text;
      o_before := o_before || w_posted; o_after := o_after || w_posted + r.amount;
      w_posted := w_posted + r.amount; w_seq := w_seq + 1;
      o_seqs := o_seqs || w_seq;
      continue;
    end if;
    o_before := o_before || w_posted; o_after := o_after || w_posted; o_seqs := o_seqs || null::bigint;
  end loop;
  if w_id is not null then
    u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
    u_posted := u_posted || w_posted; u_seqs := u_seqs || w_seq;
  end if;

  update wallet w set posted = u.posted, seq = u.seq
  from unnest(u_buckets, u_ids, u_posted, u_seqs) as u (bucket, id, posted, seq)
  where w.bucket = u.bucket and w.id = u.id and w.seq <> u.seq;

  insert into journal
    (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, kind, description)
  select p_buckets[o.item], p_tx[o.item], l.line, id_time(p_tx[o.item]), l.account, l.owner, l.amount,
    l.wallet_seq, l.balance_after, p_kinds[o.item], l.description
  from unnest(o_items, o_states, o_after, o_seqs) as o (item, state, balance_after, seq)
  cross join lateral (values
    (1::smallint, 'wallet', p_wallet_ids[o.item], p_amounts[o.item], o.seq, o.balance_after,
      p_descriptions[o.item]),
    (2::smallint, p_counter_accounts[o.item], p_counter_owners[o.item], -p_amounts[o.item], null, null,
      null)
  ) as l (line, account, owner, amount, wallet_seq, balance_after, description)
  where o.state = 'posted';

  insert into outbox (bucket, wallet_id, source_id, kind, payload, balance_before, balance_after, at)
  select p_buckets[o.item], p_wallet_ids[o.item], p_tx[o.item], 'balance.updated',
    p_events[o.item]::jsonb, o.balance_before, o.balance_after, id_time(p_tx[o.item])
  from unnest(o_items, o_states, o_before, o_after) as o (item, state, balance_before, balance_after)
  where o.state = 'posted' and p_events[o.item] is not null;

  return query select * from unnest(o_items, o_states, o_before, o_after);
end $$;

-- Places holds: grants as much as fits between p_min and p_max, item after item in the order given, the
-- exact decision one caller after another would get. (A prefix sum in one statement is not the same: a
-- refused large request would block a later small one.) States:
--   granted        the hold is open; also when the same id asks again
--   blocked        other open holds are in the way; waiting may help
--   insufficient   the wallet does not have the minimum
--   limit_reached  a spend limit does not have the minimum; limit_owner_id says whose, the first in the
--                  order given
--   no_wallet, conflict (the id is another wallet's hold): a bug of the caller
-- Any number of limits may bind an item: p_limit_items has the place of the item that each limit binds, those
-- of one item side by side and no counter twice.
-- Plans are made once and pinned to index look-ups: they do not depend on the statistics of tables that
-- change shape, and a batch of one is not planned anew each time.
create function hold_batch(
  p_buckets smallint[], p_ids uuid[], p_wallet_ids uuid[], p_min bigint[], p_max bigint[],
  p_limit_items integer[], p_limit_buckets smallint[], p_limit_owner_ids uuid[], p_limit_periods date[],
  p_limit_credits bigint[],
  p_node_id text, p_node_epoch bigint, p_now timestamptz, p_expires_at timestamptz
) returns table (item integer, state text, granted bigint, limit_owner_id uuid)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  r record;
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint;
  l_counters integer[]; l_spent bigint[]; l_held bigint[]; l_first integer; l integer; k integer;
  room bigint; v_state text; v_granted bigint; v_limit_owner_id uuid;
  -- Answers stand at the place of their item, so that columns zip without a join.
  o_states text[] := array_fill(null::text, array[cardinality(p_ids)]);
  o_granted bigint[] := array_fill(null::bigint, array[cardinality(p_ids)]);
  o_limit_owner_ids uuid[] := array_fill(null::uuid, array[cardinality(p_ids)]);
  u_buckets smallint[]; u_ids uuid[]; u_held bigint[];
  with_limits boolean := p_limit_items <> '{}';
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
    from unnest(p_buckets, p_ids, p_wallet_ids, p_min, p_max) with ordinality
      as u (bucket, id, wallet_id, min, max)
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

    room := w_posted - w_held; v_granted := null; v_limit_owner_id := null;
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
    elsif r.open_amount is not null then
      v_state := case when r.open_wallet_id = r.wallet_id then 'repeated' else 'conflict' end;
      v_granted := r.open_amount;
    elsif room >= r.min then
      v_state := 'granted';
      v_granted := least(r.max, room);
      w_held := w_held + v_granted;
      if with_limits and l_first is not null then
        foreach k in array l_counters[l_first:l - 1] loop
          l_held[k] := l_held[k] + v_granted;
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

  if with_limits then
    perform add_spend(array_agg(u.bucket), array_agg(u.owner_id), array_agg(u.period),
      array_agg(0::bigint), array_agg(o_granted[u.item]))
    from unnest(p_limit_items, p_limit_buckets, p_limit_owner_ids, p_limit_periods)
      as u (item, bucket, owner_id, period)
    where o_states[u.item] = 'granted';
  end if;

  return query
  select o.ordinality::integer, case o.state when 'repeated' then 'granted' else o.state end, o.granted,
    o.limit_owner_id
  from unnest(o_states, o_granted, o_limit_owner_ids) with ordinality
    as o (state, granted, limit_owner_id);
end $$;

-- Locks the counters of spend limits: after the wallets, and in order.
create function lock_spend_counters(p_buckets smallint[], p_owner_ids uuid[], p_periods date[])
returns void
language plpgsql as $$
begin
  perform 1 from spend_counter s
  where (s.bucket, s.owner_id, s.period) in (
    select b, o, p from unnest(p_buckets, p_owner_ids, p_periods) as u (b, o, p))
  order by s.bucket, s.owner_id, s.period
  for no key update;
end $$;

-- Makes the counters that are missing, locks all of them and reads them. Several limits of a batch may share
-- a counter: `counters` has the place of the first of them, and what stands there in `spent` and `held` is
-- the caller's to keep.
create function take_spend_counters(
  p_buckets smallint[], p_owner_ids uuid[], p_periods date[],
  out counters integer[], out spent bigint[], out held bigint[]
)
language plpgsql as $$
begin
  insert into spend_counter (bucket, owner_id, period, spent, held)
  select distinct u.bucket, u.owner_id, u.period, 0, 0
  from unnest(p_buckets, p_owner_ids, p_periods) as u (bucket, owner_id, period)
  order by u.bucket, u.owner_id, u.period
  on conflict (bucket, owner_id, period) do nothing;

  perform lock_spend_counters(p_buckets, p_owner_ids, p_periods);

  select array_agg(u.counter order by u.place), array_agg(s.spent order by u.place),
    array_agg(s.held order by u.place)
  into counters, spent, held
  from (
    select n.*, min(n.place) over (partition by n.bucket, n.owner_id, n.period)::integer as counter
    from unnest(p_buckets, p_owner_ids, p_periods) with ordinality as n (bucket, owner_id, period, place)
  ) u
  left join spend_counter s on s.bucket = u.bucket and s.owner_id = u.owner_id and s.period = u.period;
  -- The job that forgets old counters may come between the insert and the lock. A limit that nobody counts
  -- would be none, so the batch is sent again.
  if array_position(spent, null) is not null then
    raise exception 'a spend counter is gone' using errcode = 'serialization_failure';
  end if;
end $$;

create function add_spend(
  p_buckets smallint[], p_owner_ids uuid[], p_periods date[], p_spent bigint[], p_held bigint[]
) returns void
language plpgsql as $$
begin
  update spend_counter s set spent = s.spent + u.spent, held = s.held + u.held
  from (
    select b as bucket, o as owner_id, p as period, sum(x)::bigint as spent, sum(y)::bigint as held
    from unnest(p_buckets, p_owner_ids, p_periods, p_spent, p_held) as u (b, o, p, x, y)
    group by b, o, p
  ) u
  where s.bucket = u.bucket and s.owner_id = u.owner_id and s.period = u.period;
end $$;

-- What a caller says about a call beside its money; the names are those of usage_event.
create type usage_description as (
  developer_id uuid, key_id uuid, billing_mode text, model text, client_id text, external_user_id text,
  input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint,
  reasoning_tokens bigint, estimated boolean, details jsonb, event jsonb
);

-- Resolves holds: p_used null gives the hold back, else what was used is charged and the rest given back,
-- with the usage row, the earning and the outbox row, in one transaction. States:
--   settled   charged; again when the same id asks again, with the numbers of the first time
--   late      the hold was gone (expired, or its node was declared dead): charged what the wallet has
--   voided    given back; gone: there was nothing to give back
--   no_wallet, conflict (the id is another wallet's): a bug of the caller
-- Never more than the wallet has free, and never more than the spend limits leave, which are given as to
-- hold_batch and are those that the hold was placed under. Cost is covered first; cost that is not covered is
-- written off, a markup that is not covered is not earned.
create function settle_batch(
  p_buckets smallint[], p_ids uuid[], p_wallet_ids uuid[], p_used bigint[], p_cost bigint[],
  p_limit_items integer[], p_limit_buckets smallint[], p_limit_owner_ids uuid[], p_limit_periods date[],
  p_limit_credits bigint[],
  p_usage json
) returns table (
  item integer, state text, charged bigint, shortfall bigint, balance_before bigint, balance_after bigint
)
language plpgsql set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  r record; e record;
  w_bucket smallint; w_id uuid; w_posted bigint; w_held bigint; w_seq bigint;
  l_counters integer[]; l_spent bigint[]; l_held bigint[]; l_first integer; l_last integer;
  k integer; room bigint;
  v_state text; v_charged bigint; v_used bigint; v_before bigint; v_released bigint;
  nothing bigint[] := array_fill(null::bigint, array[cardinality(p_ids)]);
  o_states text[] := array_fill(null::text, array[cardinality(p_ids)]);
  o_charged bigint[] := nothing; o_short bigint[] := nothing; o_before bigint[] := nothing;
  o_after bigint[] := nothing; o_seqs bigint[] := nothing; o_released bigint[] := nothing;
  u_buckets smallint[]; u_ids uuid[]; u_posted bigint[]; u_held bigint[]; u_seqs bigint[];
  expected integer := 0; deleted integer;
  with_limits boolean := p_limit_items <> '{}';
begin
  perform 1 from wallet w
  where (w.bucket, w.id) in (select b, i from unnest(p_buckets, p_wallet_ids) as u (b, i))
  order by w.bucket, w.id
  for no key update;

  if with_limits then
    select t.counters, t.spent, t.held into l_counters, l_spent, l_held
    from take_spend_counters(p_limit_buckets, p_limit_owner_ids, p_limit_periods) t;
  end if;

  for r in
    select u.ordinality::integer as item, u.*, w.posted, w.held, w.seq,
      h.amount as open_amount, h.wallet_id as open_wallet_id,
      h.spend_owner_ids as open_owner_ids, h.spend_periods as open_periods
    from unnest(p_buckets, p_ids, p_wallet_ids, p_used, p_cost) with ordinality
      as u (bucket, id, wallet_id, used, cost)
    left join wallet w on w.bucket = u.bucket and w.id = u.wallet_id
    left join hold h on h.bucket = u.bucket and h.id = u.id
    order by u.bucket, u.wallet_id, u.ordinality
  loop
    if w_id is distinct from r.wallet_id then
      if w_id is not null then
        u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
        u_posted := u_posted || w_posted; u_held := u_held || w_held; u_seqs := u_seqs || w_seq;
      end if;
      w_bucket := r.bucket; w_id := r.wallet_id;
      w_posted := r.posted; w_held := r.held; w_seq := r.seq;
    end if;

    v_before := w_posted; v_charged := 0; v_released := 0; v_used := coalesce(r.used, 0);
    l_first := null;
    if with_limits then
      l_first := array_position(p_limit_items, r.item); l_last := l_first;
      while p_limit_items[l_last + 1] = r.item loop
        l_last := l_last + 1;
      end loop;
    end if;
    if r.open_amount is not null and (l_first is null) <> (r.open_owner_ids is null)
      or r.open_owner_ids <> p_limit_owner_ids[l_first:l_last]
      or r.open_periods <> p_limit_periods[l_first:l_last]
    then
      raise exception 'hold % was placed under other spend limits', r.id
      using errcode = 'integrity_constraint_violation';
    end if;

    if w_posted is null then
      v_state := 'no_wallet';
    elsif r.open_wallet_id <> r.wallet_id then
      v_state := 'conflict';
    elsif r.open_amount is null and r.used is null then
      v_state := 'gone';
    else
      v_state := case when r.used is null then 'voided' when r.open_amount is null then 'late'
        else 'settled' end;
      if v_state = 'late' then
        select x.wallet_id, x.state, x.credits_used, x.shortfall_credits, x.balance_before,
          x.balance_after into e
        from usage_event x
        where x.bucket = r.bucket and x.id = r.id and x.at = id_time(r.id);
        if found then
          o_states[r.item] := case when e.wallet_id = r.wallet_id then 'repeated_' || e.state
            else 'conflict' end;
          o_charged[r.item] := e.credits_used; o_short[r.item] := e.shortfall_credits;
          o_before[r.item] := e.balance_before; o_after[r.item] := e.balance_after;
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
          room := least(room, greatest(0, p_limit_credits[l] - l_spent[k] - l_held[k]));
        end loop;
      end if;
      v_charged := least(v_used, room);
      w_posted := w_posted - v_charged;
      if l_first is not null then
        foreach k in array l_counters[l_first:l_last] loop
          l_spent[k] := l_spent[k] + v_charged;
        end loop;
      end if;
      if v_charged > 0 then
        w_seq := w_seq + 1;
      end if;
    end if;
    o_states[r.item] := v_state; o_charged[r.item] := v_charged; o_short[r.item] := v_used - v_charged;
    o_before[r.item] := v_before; o_after[r.item] := w_posted; o_seqs[r.item] := w_seq;
    o_released[r.item] := v_released;
  end loop;
  if w_id is not null then
    u_buckets := u_buckets || w_bucket; u_ids := u_ids || w_id;
    u_posted := u_posted || w_posted; u_held := u_held || w_held; u_seqs := u_seqs || w_seq;
  end if;

  update wallet w set posted = u.posted, held = u.held, seq = u.seq
  from unnest(u_buckets, u_ids, u_posted, u_held, u_seqs) as u (bucket, id, posted, held, seq)
  where w.bucket = u.bucket and w.id = u.id and (w.held <> u.held or w.seq <> u.seq);

  delete from hold h
  using unnest(p_buckets, p_ids, o_released) as o (bucket, id, released)
  where o.released > 0 and h.bucket = o.bucket and h.id = o.id;
  get diagnostics deleted = row_count;
  if deleted <> expected then
    raise exception 'one hold was resolved twice in a batch' using errcode = 'integrity_constraint_violation';
  end if;

  if with_limits then
    perform add_spend(array_agg(u.bucket), array_agg(u.owner_id), array_agg(u.period),
      array_agg(o_charged[u.item]), array_agg(-o_released[u.item]))
    from unnest(p_limit_items, p_limit_buckets, p_limit_owner_ids, p_limit_periods)
      as u (item, bucket, owner_id, period)
    where o_states[u.item] in ('settled', 'late', 'voided');
  end if;

  perform record_usage(p_buckets, p_ids, p_wallet_ids, p_cost, p_usage,
    o_states, o_charged, o_short, o_before, o_after, o_seqs);

  return query
  select o.ordinality::integer, replace(o.state, 'repeated_', ''), o.charged, o.short,
    o.balance_before, o.balance_after
  from unnest(o_states, o_charged, o_short, o_before, o_after) with ordinality
    as o (state, charged, short, balance_before, balance_after);
end $$;

-- The second half of settle_batch: journal, usage, earning and outbox rows of what was charged.
create function record_usage(
  p_buckets smallint[], p_ids uuid[], p_wallet_ids uuid[], p_cost bigint[], p_usage json,
  p_states text[], p_charged bigint[], p_short bigint[], p_before bigint[], p_after bigint[],
  p_seqs bigint[]
) returns void language plpgsql as $$
begin
  if not (p_states && array['settled', 'late']) then
    return;
  end if;
  with usage as (
    select o.*, id_time(o.id) as at, greatest(0, o.charged - o.cost) as markup
    from rows from (
      unnest(p_buckets, p_ids, p_wallet_ids, p_cost, p_states, p_charged, p_short, p_before, p_after,
        p_seqs),
      json_populate_recordset(null::usage_description, p_usage)
    ) as o (bucket, id, wallet_id, cost, state, charged, short, balance_before, balance_after, seq,
      developer_id, key_id, billing_mode, model, client_id, external_user_id, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, details, event)
    where o.state in ('settled', 'late')
  ), lines as (
    insert into journal (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, kind)
    select u.bucket, u.id, l.line, u.at, l.account, l.owner, l.amount, l.seq, l.balance_after, 'usage'
    from usage u
    cross join lateral (values
      (1::smallint, 'wallet', u.wallet_id, -u.charged, u.seq, u.balance_after),
      (2::smallint, 'revenue', null, u.cost, null, null),
      (3::smallint, 'dev_payable', u.developer_id, u.markup, null, null),
      (4::smallint, 'write_off', null, least(0, u.charged - u.cost), null, null)
    ) as l (line, account, owner, amount, seq, balance_after)
    where l.amount <> 0
  ), events as (
    insert into usage_event (bucket, id, at, wallet_id, developer_id, key_id, billing_mode, model,
      client_id, external_user_id, credits_used, cost_credits, markup_credits, shortfall_credits,
      balance_before, balance_after, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, estimated, state, details)
    select u.bucket, u.id, u.at, u.wallet_id, u.developer_id, u.key_id, u.billing_mode, u.model,
      u.client_id, u.external_user_id, u.charged, u.cost, u.markup, u.short,
      u.balance_before, u.balance_after, u.input_tokens, u.cached_input_tokens, u.cache_write_tokens,
      u.output_tokens, u.reasoning_tokens, u.estimated, u.state, u.details
    from usage u
  ), earnings as (
    insert into developer_earning (bucket, id, developer_id, amount, usage_at)
    select u.bucket, u.id, u.developer_id, u.markup, u.at
    from usage u
    where u.markup > 0
  )
  insert into outbox (bucket, wallet_id, source_id, kind, payload, balance_before, balance_after, at)
  select u.bucket, u.wallet_id, u.id, 'usage.completed', u.event, u.balance_before, u.balance_after, u.at
  from usage u
  where u.event is not null;
end $$;

-- settle_batch, then hold_batch, in one transaction: a hold has the room that a settlement beside it gives back.
-- The wallets and counters of both are locked first, in order, because two walks one after the other would not
-- be. What only one kind has is null for the other.
create function ledger_batch(
  s_buckets smallint[], s_ids uuid[], s_wallet_ids uuid[], s_used bigint[], s_cost bigint[],
  s_limit_items integer[], s_limit_buckets smallint[], s_limit_owner_ids uuid[], s_limit_periods date[],
  s_limit_credits bigint[], s_usage json,
  h_buckets smallint[], h_ids uuid[], h_wallet_ids uuid[], h_min bigint[], h_max bigint[],
  h_limit_items integer[], h_limit_buckets smallint[], h_limit_owner_ids uuid[], h_limit_periods date[],
  h_limit_credits bigint[],
  h_node_id text, h_node_epoch bigint, h_now timestamptz, h_expires_at timestamptz
) returns table (
  kind text, item integer, state text, charged bigint, shortfall bigint, balance_before bigint,
  balance_after bigint, granted bigint, limit_owner_id uuid
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
    null::bigint, null::uuid
  from settle_batch(s_buckets, s_ids, s_wallet_ids, s_used, s_cost, s_limit_items, s_limit_buckets,
    s_limit_owner_ids, s_limit_periods, s_limit_credits, s_usage) s;

  return query
  select 'hold', h.item, h.state, null::bigint, null::bigint, null::bigint, null::bigint, h.granted,
    h.limit_owner_id
  from hold_batch(h_buckets, h_ids, h_wallet_ids, h_min, h_max, h_limit_items, h_limit_buckets,
    h_limit_owner_ids, h_limit_periods, h_limit_credits, h_node_id, h_node_epoch, h_now, h_expires_at) h;
end $$;

-- Gives back holds that nobody will resolve: past their time, or of a node without a live lease. The
-- wallets are locked as everywhere, and the delete decides: a settle that came first leaves nothing here.
create function sweep_holds(p_buckets smallint[], p_now timestamptz, p_limit integer)
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
