-- The wallet: balances, open holds and the journal they must always agree with.
-- docs/ledger.md says why this can be trusted. Three rules hold for everything below:
--   * Whoever changes a wallet, its holds or its chain locks the wallet's row first, several in the order
--     (bucket, id). There are no foreign keys to wallet: they would lock the hot row a second time.
--   * Every row carries its wallet's bucket, and no journal transaction spans two buckets.
--   * Times of business come from the caller or from the id (UUIDv7). Leases, deadlines and expiry are judged by the
--     server's clock alone: callers' clocks differ.

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
  expires_at timestamptz not null,
  bucket smallint not null,
  id uuid not null,
  wallet_id uuid not null,
  node_id uuid not null,
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

-- One row for each process that may place holds: its lease. The process counts `beat` up every few seconds. Whoever
-- sees it unchanged for the whole time of a lease deletes the row, and the node's holds are given back.
create table gateway_node (
  beat bigint not null,
  beaten_at timestamptz not null,
  node_id uuid primary key
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

-- What a caller says about a call beside its money; the names are those of usage_event.
create type usage_description as (
  developer_id uuid, key_id uuid, billing_mode text, model text, client_id text, external_user_id text,
  input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint,
  reasoning_tokens bigint, estimated boolean, details jsonb, event jsonb
);

-- What travels together in a batch.
create type hold_item as (
  bucket smallint, id uuid, wallet_id uuid, min_credits bigint, max_credits bigint,
  -- Of a hold that grows: what it has, 0 for a new one. Null: it does not grow.
  held_credits bigint,
  -- By the server's clock. A hold that is decided later is refused: its caller has given it up.
  deadline timestamptz
);

-- A spend limit that binds an item of the batch, by the item's place. Those of one item stand side by side.
create type limit_item as (
  item integer, bucket smallint, owner_id uuid, period date, limit_credits bigint
);
