-- The wallet: balances, open holds and the journal they must always agree with.
-- docs/ledger.md says why this can be trusted. Three rules hold for everything below:
--   * Whoever changes a wallet, its holds or its chain locks the wallet's row first, several in the order
--     (bucket, id). There are no foreign keys to wallet: they would lock the hot row a second time.
--   * Every row carries its wallet's bucket, and no journal transaction spans two buckets.
--   * Times of business come from the caller or from the id (UUIDv7). The time of a posting comes from the server, by
--     ledger_now(): one clock for all processes, so that a month can be closed. Leases, deadlines and expiry are judged by
--     the server's clock as well: callers' clocks differ.
-- Words that repeat in every row are enums: four bytes each, and still words to whoever reads the table.

-- Constraints call these two for every row they check. In plpgsql, because the body of an SQL function is read from
-- the catalog and planned again by each statement that writes the table, and a small batch has few rows to share
-- that.

-- The top 6 of the 12 bits after the version: 0 to 63.
create function wallet_bucket(id uuid) returns smallint
language plpgsql immutable strict parallel safe as $$
begin
  return ((get_byte(uuid_send(id), 6) & 15) << 2) | (get_byte(uuid_send(id), 7) >> 6);
end $$;

-- The time in an id. A usage row takes `at` from it, so that an id belongs to one partition.
create function id_time(id uuid) returns timestamptz
language plpgsql immutable strict parallel safe as $$
begin
  return to_timestamp(('x' || encode(substring(uuid_send(id) for 6), 'hex'))::bit(48)::bigint::double precision
    / 1000);
end $$;

create table wallet (
  posted bigint not null,
  held bigint not null,
  -- The part of posted that nobody paid for.
  promotional bigint not null default 0,
  seq bigint not null,
  opened_at timestamptz not null,
  -- Time never goes backwards within a wallet, so its lines of a month are one stretch of its chain.
  last_posted_at timestamptz not null default '-infinity',
  bucket smallint not null,
  -- The account's id: one wallet for each account.
  id uuid not null,
  primary key (bucket, id),
  constraint wallet_bucket_is_of_id check (bucket = wallet_bucket(id)),
  constraint wallet_is_never_negative check (posted >= 0),
  constraint wallet_held_is_never_negative check (held >= 0),
  constraint wallet_held_is_covered check (held <= posted),
  constraint wallet_promotional_is_covered check (promotional >= 0 and promotional <= posted),
  constraint wallet_fits_json check (posted <= 9007199254740991)
-- Room on the page and no index on what changes: updates stay heap-only.
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Open holds only: settling, voiding and expiry delete the row, so nothing can be resolved twice.
create table hold (
  amount bigint not null,
  -- What its call stands still for until it has it; null while the call goes on.
  wanted bigint,
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
create index spend_counter_by_period on spend_counter (period);

-- One row for each process that may place holds: its lease. The process counts `beat` up every few seconds. Whoever
-- sees it unchanged for the whole time of a lease deletes the row, and the node's holds are given back.
create table gateway_node (
  beat bigint not null,
  beaten_at timestamptz not null,
  node_id uuid primary key
) with (fillfactor = 50);

-- Accounts: wallet (owner = wallet), transit (owner = transfer), dev_payable (owner = developer), dev_promotional (the
-- same, earned with promotional credits and never paid out), revenue, promo, external, write_off, disputed (owner =
-- top-up), forfeited (what was left in deleted accounts), and those of the payouts. Only wallets have a balance row, so no
-- second row is hot.
create type journal_account as enum ('wallet', 'transit', 'dev_payable', 'revenue', 'promo', 'external',
  'write_off', 'dev_reserve', 'payout_clearing', 'stripe_cash', 'rounding', 'disputed', 'forfeited', 'dev_promotional');
create type journal_kind as enum ('usage', 'welcome', 'grant', 'topup', 'transfer_out', 'transfer_in', 'refund',
  'refund_failed', 'dispute', 'dispute_won', 'dispute_lost', 'dispute_reinstated', 'payout_claim', 'payout_paid',
  'payout_failed', 'payout_reversed', 'closure', 'verified', 'paid_grant');
create type billing_mode as enum ('developer', 'user');
create type usage_state as enum ('settled', 'late');
-- Where a call came in: the template of its route.
create type usage_endpoint as enum ('/v1/chat/completions', '/v1/messages', '/v1/responses',
  '/v1/users/:external_user_id/chat/completions', '/v1/users/:external_user_id/messages', '/v1/users/:external_user_id/responses',
  '/v1/embeddings', '/v1/users/:external_user_id/embeddings',
  '/v1/audio/speech', '/v1/audio/transcriptions', '/v1/audio/sound-effects',
  '/v1/users/:external_user_id/audio/speech', '/v1/users/:external_user_id/audio/transcriptions',
  '/v1/users/:external_user_id/audio/sound-effects',
  '/account/playground/chat/completions', '/account/playground/audio/speech',
  '/account/playground/audio/transcriptions', '/account/playground/audio/sound-effects');
-- `usage.free`: a call that cost nothing. Nobody is told of it, but it is counted (fold_usage).
create type event_kind as enum ('usage.completed', 'usage.free', 'balance.updated', 'user.connected',
  'user.disconnected');

-- The book. `at` is the time of posting. Its unique indexes are made with each partition (guard_journal_partition):
-- an index of the whole table would need `at` in it, which would make it larger and mean less.
create table journal (
  at timestamptz not null,
  amount bigint not null,
  wallet_seq bigint,
  balance_after bigint,
  -- How much of balance_after nobody paid for.
  promotional_after bigint,
  account journal_account not null,
  kind journal_kind not null,
  bucket smallint not null,
  line smallint not null,
  tx uuid not null,
  owner uuid,
  description text,
  constraint journal_bucket_is_of_tx check (bucket = wallet_bucket(tx)),
  constraint journal_amount_is_not_zero check (amount <> 0),
  constraint journal_wallet_line_is_whole check (
    (account = 'wallet') = (wallet_seq is not null)
    and (account = 'wallet') = (balance_after is not null)
    and (account = 'wallet') = (promotional_after is not null)
    and (account <> 'wallet' or owner is not null)
  ),
  constraint journal_wallet_is_never_negative check (promotional_after >= 0 and promotional_after <= balance_after)
) partition by range (at);

-- What a model cost when it was called: once for each list, however many calls are charged by it.
create table price_list (
  id integer generated always as identity primary key,
  first_used_at timestamptz not null,
  digest bytea not null unique,
  prices jsonb not null
);

create table usage_event (
  at timestamptz not null,
  credits_used bigint not null,
  cost_credits bigint not null,
  markup_credits bigint not null,
  shortfall_credits bigint not null,
  -- How much of credits_used nobody paid for.
  promotional_credits bigint not null,
  balance_before bigint not null,
  balance_after bigint not null,
  input_tokens integer not null,
  cached_input_tokens integer not null,
  cache_write_tokens integer not null,
  output_tokens integer not null,
  reasoning_tokens integer not null,
  price_list_id integer,
  first_byte_ms integer,
  total_ms integer,
  state usage_state not null,
  billing_mode billing_mode not null,
  endpoint usage_endpoint,
  bucket smallint not null,
  estimated boolean not null,
  stream boolean not null default false,
  -- The id of the hold, of the journal transaction and of the generation.
  id uuid not null,
  wallet_id uuid not null,
  -- Who made the app or the key, and earns the markup.
  developer_id uuid,
  key_id uuid,
  -- The 32 digits after "req_".
  request_id uuid,
  model text not null,
  outcome text,
  -- Of a call that failed half way and is charged what was delivered.
  error_code text,
  provider_request_id text,
  client_id text,
  external_user_id text,
  -- What the provider reported, without what was zero. As text: it is smaller so, and read by people.
  raw_usage json,
  -- What only some models have: seconds, characters, finish reason.
  details jsonb,
  constraint usage_event_adds_up check (
    balance_before - credits_used = balance_after and credits_used >= 0 and balance_after >= 0
    and promotional_credits >= 0 and promotional_credits <= credits_used
  ),
  constraint usage_event_time_is_of_id check (at = id_time(id)),
  constraint usage_event_bucket_is_of_wallet check (bucket = wallet_bucket(wallet_id))
) partition by range (at);
create index usage_event_by_wallet on usage_event (wallet_id, at);
-- What a developer's users paid. Calls that developers pay themselves are not in it and cost nothing more.
create index usage_event_by_developer on usage_event (developer_id, at) where developer_id <> wallet_id;

-- Calls that had a payer and cost nothing because they were refused or failed: shown beside those of usage_event, and
-- no part of the book. Written in batches beside the calls (record_failed_calls), and dropped by the month.
create table failed_call (
  at timestamptz not null,
  total_ms integer,
  http_status smallint not null,
  bucket smallint not null,
  stream boolean not null,
  billing_mode billing_mode not null,
  endpoint usage_endpoint,
  -- As those of usage_event: an id of the payer's wallet, with the time in it.
  id uuid not null,
  wallet_id uuid not null,
  developer_id uuid,
  key_id uuid,
  request_id uuid,
  -- As it was asked for, whether or not there is one.
  model text not null,
  upstream_model text,
  outcome text not null,
  error_code text,
  client_id text,
  external_user_id text,
  primary key (at, id, bucket),
  constraint failed_call_time_is_of_id check (at = id_time(id)),
  constraint failed_call_bucket_is_of_wallet check (bucket = wallet_bucket(wallet_id))
) partition by range (at);
create index failed_call_by_wallet on failed_call (wallet_id, at);
create index failed_call_by_developer on failed_call (developer_id, at) where developer_id <> wallet_id;

-- The markup of a call, until a payout takes it. The bucket is the payer's. A call has one of each kind at most, payable
-- and not, because it has one usage row: the id has no index here.
create table developer_earning (
  amount bigint not null,
  usage_at timestamptz not null,
  bucket smallint not null,
  -- False: shown as earned, and never paid out. record_usage decides it.
  payable boolean not null default true,
  id uuid not null,
  developer_id uuid not null,
  payout_id uuid,
  constraint developer_earning_is_positive check (amount > 0),
  constraint developer_earning_is_payable_if_paid check (payable or payout_id is null)
) partition by range (usage_at);
create index developer_earning_unpaid on developer_earning (developer_id, usage_at) include (amount)
where payout_id is null and payable;
-- What a payout took: to prove it, and to give it back.
create index developer_earning_by_payout on developer_earning (payout_id) where payout_id is not null;

-- What happened to a wallet or its account, in the transaction in which it happened. A dispatcher fans it out.
create sequence outbox_id;
create table outbox (
  id bigint not null default nextval('outbox_id'),
  -- The writing transaction: readers take what was committed between two snapshots (take_outbox).
  written_by xid8 not null default pg_current_xact_id(),
  balance_before bigint,
  balance_after bigint,
  at timestamptz not null,
  kind event_kind not null,
  bucket smallint not null,
  wallet_id uuid not null,
  -- The journal transaction, usage event or connection behind it.
  source_id uuid not null,
  -- Null where the source says it all.
  payload jsonb,
  -- A connection changes no balance. Everything else does, and says from what to what.
  constraint outbox_balances_are_whole check (
    kind in ('user.connected', 'user.disconnected')
    or (balance_before is not null and balance_after is not null)
  )
) partition by range (at);

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

-- Calls to models that came with an Idempotency-Key, for a day: who makes them, and the answer once it is paid for. The
-- claim stands before anything is held, and `id` is that of the hold and the usage row: the ledger charges an id once,
-- whoever asks. Without `form` the call runs, or its process died; the ledger then knows whether it was charged.
create table idempotent_call (
  created_at timestamptz not null,
  -- Counts the processes that took the call up.
  attempt integer not null default 1,
  result_bytes integer not null default 0,
  id uuid not null,
  -- The lease of the process that makes the call.
  node_id uuid not null,
  developer_id uuid not null,
  wallet_id uuid not null,
  endpoint text not null,
  key text not null,
  digest bytea not null,
  -- body, stream, error, or dropped: charged, and too large to keep.
  form text,
  head json,
  events json,
  body bytea,
  primary key (developer_id, wallet_id, endpoint, key),
  constraint idempotent_call_key_is_short check (length(key) between 1 and 255),
  constraint idempotent_call_form_is_known check (form in ('body', 'stream', 'error', 'dropped'))
);
create index idempotent_call_by_age on idempotent_call (created_at);

-- Append-only, and balanced: refused here, whoever asks.
create function journal_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the journal is append-only' using errcode = 'restrict_violation';
end $$;
create trigger journal_is_append_only before update or delete on journal
for each row execute function journal_is_append_only();
create trigger journal_is_never_truncated before truncate on journal
for each statement execute function journal_is_append_only();

-- A transaction arrives whole, in one statement: its lines sum to zero and are numbered from 1 without a gap. So it is
-- enough that line 1 is unique.
create function journal_sums_to_zero() returns trigger language plpgsql as $$
declare
  broken uuid;
begin
  select tx into broken from new_lines group by bucket, tx
  having sum(amount) <> 0 or bit_or(1 << line) <> (2 << count(*)::integer) - 2 limit 1;
  if broken is not null then
    raise exception 'the lines of journal transaction % are not whole or do not sum to zero', broken
    using errcode = 'check_violation', constraint = 'journal_sums_to_zero';
  end if;
  return null;
end $$;
create trigger journal_sums_to_zero after insert on journal
referencing new table as new_lines
for each statement execute function journal_sums_to_zero();

revoke all on journal from public;
revoke update, delete, truncate on journal from current_user;

-- Partitions: one a month, of the outbox one a week, made ahead of time. DEFAULT catches what nobody foresaw; a row
-- in it is an alarm.

-- What each partition has of its own. A trigger with a transition table watches the table that was named, so an insert
-- straight into a partition is held to the same rule.
create function guard_journal_partition(name text) returns void language plpgsql as $$
begin
  execute format('create unique index %I on %I (tx, bucket) where line = 1', name || '_tx', name);
  execute format('create unique index %I on %I (bucket, owner, wallet_seq) where wallet_seq is not null',
    name || '_chain', name);
  -- What is no call, by its kind: a statement of top-ups does not walk through a million calls. Calls are not in it.
  execute format('create index %I on %I (bucket, owner, kind, wallet_seq) where wallet_seq is not null and kind <> ''usage''',
    name || '_kinds', name);
  execute format(
    'create trigger journal_sums_to_zero after insert on %I referencing new table as new_lines
     for each statement execute function journal_sums_to_zero()', name);
  execute format(
    'create trigger journal_is_never_truncated before truncate on %I
     for each statement execute function journal_is_append_only()', name);
  execute format('revoke update, delete, truncate on %I from current_user', name);
end $$;

-- p_bounds is what follows "partition of": `default`, or `for values …`. Ids come first in the indexes: they grow with
-- time, so pages are filled one after the other; with the bucket first they stayed half empty.
create function make_ledger_partition(p_parent text, p_name text, p_bounds text) returns void
language plpgsql as $$
begin
  execute format('create table %I partition of %I %s', p_name, p_parent, p_bounds);
  if p_parent = 'journal' then
    perform guard_journal_partition(p_name);
  elsif p_parent = 'usage_event' then
    execute format('create unique index %I on %I (id, bucket)', p_name || '_id', p_name);
  elsif p_parent = 'outbox' then
    execute format('create unique index %I on %I (written_by, id, bucket)', p_name || '_order', p_name);
  end if;
end $$;
select make_ledger_partition(parent, parent || '_default', 'default')
from unnest(array['journal', 'usage_event', 'developer_earning', 'outbox', 'failed_call']) as parent;

-- In the order in which a settlement locks them. In any other order both would wait for each other.
create function lock_ledger_tables() returns void language plpgsql as $$
begin
  lock table outbox, journal, usage_event, developer_earning, failed_call in access exclusive mode;
end $$;

-- A month is sealed once (docs/ledger.md): after that its partitions refuse every row and every change.
create function sealed_month_is_closed() returns trigger language plpgsql as $$
begin
  raise exception 'the month of this row is sealed' using errcode = 'restrict_violation';
end $$;

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
  parent text; by_time text; unit text; name_end text; child text; starts timestamp[]; start timestamp;
  stray_starts timestamp[]; strays bigint; moved bigint; locked boolean := false;
begin
  -- Two processes may come here at once; the second then finds the work done.
  perform pg_advisory_xact_lock(7233003);
  for parent, by_time, unit in
    values ('journal', 'at', 'month'), ('usage_event', 'at', 'month'),
      ('developer_earning', 'usage_at', 'month'), ('outbox', 'at', 'week'), ('failed_call', 'at', 'month')
  loop
    name_end := case unit when 'month' then '"_y"YYYY"m"MM' else '"_y"IYYY"w"IW' end;
    select array_agg(s) into starts
    from generate_series(date_trunc(unit, p_from at time zone 'UTC'),
      date_trunc(unit, p_from at time zone 'UTC' + make_interval(months => p_months)),
      ('1 ' || unit)::interval) s;
    execute format('select array_agg(distinct date_trunc(%L, %I at time zone ''UTC'')) from %I',
      unit, by_time, parent || '_default') into stray_starts;
    select array_agg(s) into starts
    from unnest(starts || stray_starts) s
    where to_regclass(parent || to_char(s, name_end)) is null;
    continue when starts is null and stray_starts is null;
    if not locked then
      perform lock_ledger_tables();
      locked := true;
    end if;
    if stray_starts is not null then
      execute format('alter table %I detach partition %I', parent, parent || '_default');
      execute format('alter table %I rename to %I', parent || '_default', parent || '_stray');
      -- The names of its indexes are wanted for the new one.
      execute (select coalesce(string_agg(format('alter index %I rename to %I', i.indexrelid::regclass::text,
          replace(i.indexrelid::regclass::text, '_default', '_stray')), ';'), 'select 1')
        from pg_index i where i.indrelid = to_regclass(parent || '_stray'));
      perform make_ledger_partition(parent, parent || '_default', 'default');
    end if;

    foreach start in array coalesce(starts, '{}') loop
      child := parent || to_char(start, name_end);
      continue when to_regclass(child) is not null;
      perform make_ledger_partition(parent, child, format('for values from (%L) to (%L)',
        start at time zone 'UTC', (start + ('1 ' || unit)::interval) at time zone 'UTC'));
      return next child;
    end loop;

    if stray_starts is not null then
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

-- Seals: what a month was, for ever. Months are sealed one after the other, without a gap.
create table ledger_seal (
  month date primary key,
  sealed_at timestamptz not null,
  -- Null while the rows of the month stand in this database.
  archived_at timestamptz,
  previous_digest text not null,
  digest text not null,
  constraint ledger_seal_is_of_a_month check (month = date_trunc('month', month::timestamp)::date)
);

-- The digests of the month's rows, written as CSV: the very bytes of its archive files.
create table ledger_seal_part (
  month date not null references ledger_seal,
  part text not null,
  rows bigint not null,
  digest text not null,
  primary key (month, part)
);

-- Where each wallet with a posting in the month stood at its end. A wallet's last row is what its next line follows.
create table wallet_seal (
  balance bigint not null,
  promotional bigint not null,
  seq bigint not null,
  month date not null,
  bucket smallint not null,
  wallet_id uuid not null,
  primary key (bucket, wallet_id, month)
);
create index wallet_seal_by_month on wallet_seal (month);

-- Lines and total of each account from the beginning to the end of the month.
create table account_seal (
  lines bigint not null,
  total bigint not null,
  month date not null,
  account journal_account not null,
  bucket smallint not null,
  primary key (bucket, month, account)
);

create function seals_are_kept() returns trigger language plpgsql as $$
begin
  raise exception 'a seal is never changed' using errcode = 'restrict_violation';
end $$;
create trigger wallet_seal_is_kept before update or delete on wallet_seal
for each row execute function seals_are_kept();
create trigger account_seal_is_kept before update or delete on account_seal
for each row execute function seals_are_kept();
create trigger ledger_seal_part_is_kept before update or delete on ledger_seal_part
for each row execute function seals_are_kept();
create trigger ledger_seal_is_kept before update of month, sealed_at, previous_digest, digest or delete on ledger_seal
for each row execute function seals_are_kept();
create trigger wallet_seal_is_never_truncated before truncate on wallet_seal
for each statement execute function seals_are_kept();
create trigger account_seal_is_never_truncated before truncate on account_seal
for each statement execute function seals_are_kept();
create trigger ledger_seal_part_is_never_truncated before truncate on ledger_seal_part
for each statement execute function seals_are_kept();
create trigger ledger_seal_is_never_truncated before truncate on ledger_seal
for each statement execute function seals_are_kept();

-- Work that one process does for all: whoever takes the turn does it.
create table ledger_turn (
  job text primary key,
  turn bigint not null,
  taken_at timestamptz not null
);
insert into ledger_turn (job, turn, taken_at) values ('audit', 0, '-infinity');

-- What the last check of each part of the book has found: a bucket, what spans them (book), or everything (all). One row for
-- each part, so the table stays as small as it is.
create table ledger_check (
  part text primary key,
  checked_at timestamptz not null,
  duration_ms integer not null,
  checked bigint not null,
  differences bigint not null,
  -- The proofs that differ, and with what spans buckets the total of each account.
  found jsonb not null,
  totals jsonb
) with (fillfactor = 50);

-- Who was given the credits for a verified address. Kept for ever: the posting itself may be in an archive.
create table verified_grant (
  granted_at timestamptz not null,
  bucket smallint not null,
  wallet_id uuid not null,
  primary key (bucket, wallet_id)
);

-- What a caller says about a call beside its money; the names are those of usage_event.
create type usage_description as (
  developer_id uuid, key_id uuid, billing_mode billing_mode, model text, client_id text, external_user_id text,
  input_tokens integer, cached_input_tokens integer, cache_write_tokens integer, output_tokens integer,
  reasoning_tokens integer, estimated boolean, price_list_id integer, request_id uuid, provider_request_id text,
  first_byte_ms integer, total_ms integer, endpoint usage_endpoint, outcome text, raw_usage json, details jsonb,
  stream boolean, error_code text, event jsonb
);

-- What travels together in a batch.
create type hold_item as (
  bucket smallint, id uuid, wallet_id uuid, min_credits bigint, max_credits bigint,
  -- Of a hold that grows: what it has, 0 for a new one. Null: it does not grow.
  held_credits bigint,
  -- Whether its call stands still until it has grown.
  waits boolean,
  -- By the server's clock, in milliseconds since 1970. A hold that is decided later is refused: its caller has given
  -- it up.
  deadline_ms bigint
);

-- Without used_credits the hold is given back.
create type settle_item as (
  bucket smallint, id uuid, wallet_id uuid, used_credits bigint, cost_credits bigint
);

-- What became of a settle_item. `state` is that of settle_batch, or repeated_settled and repeated_late.
create type settle_outcome as (
  state text, charged bigint, shortfall bigint, balance_before bigint, balance_after bigint, wallet_seq bigint,
  posted_at timestamptz, released bigint,
  -- Of the charge, and of the balance after it: what nobody paid for.
  promotional bigint, promotional_after bigint
);

-- A movement of credits other than usage.
create type posting_item as (
  bucket smallint, tx uuid, wallet_id uuid, amount bigint, kind journal_kind, counter_account journal_account,
  counter_owner uuid, description text, event jsonb,
  -- Into the wallet: how much of the amount nobody paid for. Null: nothing.
  promotional bigint,
  -- Out of the wallet: whether promotional credits have to stay.
  leaves_promotional boolean
);

-- A spend limit that binds an item of the batch, by the item's place. Those of one item stand side by side.
create type limit_item as (
  item integer, bucket smallint, owner_id uuid, period date, limit_credits bigint
);
