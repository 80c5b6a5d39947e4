-- Payouts: what developers earned becomes money on their account at the processor. docs/payouts.md has the rules and
-- an example. The parameters of a transfer are written down before it is asked for, so that it can be asked for again.

create type payout_status as enum ('pending', 'paid', 'failed');

create table payout (
  gross_credits bigint not null,
  reserve_credits bigint not null,
  transfer_credits bigint not null,
  amount_cents bigint not null,
  earnings_credits bigint not null,
  rolled_reserve_credits bigint not null,
  earnings_count bigint not null,
  period_start timestamptz not null,
  period_end timestamptz not null,
  -- By the clock of the batch, which travels in the sandbox.
  created_at timestamptz not null,
  -- By the server's clock: the month of its lines in the journal.
  claimed_at timestamptz not null,
  first_attempt_at timestamptz not null,
  last_attempt_at timestamptz not null,
  resolved_at timestamptz,
  -- How often the set of earnings was tried under another key, after a proven failure.
  attempt integer not null,
  bucket smallint not null,
  status payout_status not null default 'pending',
  id uuid primary key,
  developer_id uuid not null,
  stripe_account_id text not null,
  currency text not null,
  -- Of the earnings and reserves that it took: the hash of the first key.
  set_hash text not null,
  idempotency_key text not null,
  stripe_transfer_id text,
  failure_code text,
  failure_message text,
  constraint payout_bucket_is_of_id check (bucket = wallet_bucket(id) and bucket = wallet_bucket(developer_id)),
  constraint payout_gross_adds_up check (
    gross_credits = earnings_credits + rolled_reserve_credits and earnings_credits > 0 and rolled_reserve_credits >= 0
  ),
  constraint payout_reserve_is_a_tenth check (reserve_credits = gross_credits / 10),
  constraint payout_transfer_is_the_rest check (transfer_credits = gross_credits - reserve_credits),
  constraint payout_cents_are_whole check (amount_cents = transfer_credits / 10000 and amount_cents > 0),
  constraint payout_has_earnings check (earnings_count > 0 and period_start <= period_end),
  constraint payout_is_paid_by_a_transfer check (status <> 'paid' or stripe_transfer_id is not null),
  constraint payout_key_is_unique unique (idempotency_key)
);
create index payout_by_status on payout (status, id);
create index payout_by_developer on payout (developer_id, id);
create unique index payout_is_pending_once on payout (developer_id) where status = 'pending';
create unique index payout_by_transfer on payout (stripe_transfer_id) where stripe_transfer_id is not null;
create index payout_by_set on payout (set_hash);

-- What was withheld from a paid payout. Its id is the payout's.
create table payout_reserve (
  amount bigint not null,
  release_at timestamptz not null,
  payout_id uuid primary key references payout,
  developer_id uuid not null,
  -- The payout that took it along, once it was released.
  rolled_into uuid references payout deferrable initially deferred,
  -- The payout came back: nothing is withheld any more.
  voided_at timestamptz,
  constraint payout_reserve_is_not_negative check (amount >= 0),
  constraint payout_reserve_is_void_or_rolled check (voided_at is null or rolled_into is null)
);
create index payout_reserve_open on payout_reserve (developer_id, release_at)
where rolled_into is null and voided_at is null;
create index payout_reserve_by_payout on payout_reserve (rolled_into) where rolled_into is not null;

-- Sums of earnings, so that nobody adds up a million rows to see a number. Writers only append to earning_delta; a job
-- folds it into the other three. A reader adds both, in one statement: exact at every instant.
create table earning_delta (
  hour timestamptz not null,
  earned bigint not null,
  not_payable bigint not null,
  unclaimed bigint not null,
  calls bigint not null,
  developer_id uuid not null,
  client_id text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index earning_delta_by_developer on earning_delta (developer_id);

create table earning_total (
  earned bigint not null,
  not_payable bigint not null,
  developer_id uuid primary key
) with (fillfactor = 50);

-- What no payout has taken, by the hour of the call. An hour of which all was taken has no row.
create table earning_hour (
  unclaimed bigint not null,
  hour timestamptz not null,
  developer_id uuid not null,
  primary key (developer_id, hour)
) with (fillfactor = 70);
create index earning_hour_is_done on earning_hour (developer_id) where unclaimed = 0;

-- For ever: what was earned each day through each app. The empty app is that of calls through none.
create table earning_day (
  earned bigint not null,
  calls bigint not null,
  day date not null,
  developer_id uuid not null,
  client_id text not null,
  primary key (developer_id, day, client_id)
) with (fillfactor = 70);

-- The batches that were made: once a day by the worker, which makes one that did not end again, and by operators.
create table payout_run (
  started_at timestamptz not null,
  ended_at timestamptz,
  paid_cents bigint,
  paid integer,
  failed integer,
  pending integer,
  -- Null: an operator's.
  day date unique,
  id uuid primary key,
  started_by text,
  outcome text,
  constraint payout_run_is_somebodys check ((day is null) = (started_by is not null))
);
