-- Money through the payment processor: the accounts that developers are paid to, the events that it sends, and the
-- credits that people buy. What was paid is kept when an account is deleted, and what was earned is still paid: such rows
-- have the id of the account and no reference to it. A saved payment method goes with its account.

-- What we know of a developer's account at the processor. The processor knows better: this is a mirror.
create table payout_account (
  developer_id uuid primary key,
  -- Null until the processor has made one.
  stripe_account_id text unique,
  country text,
  default_currency text,
  charges_enabled boolean not null default false,
  payouts_enabled boolean not null default false,
  details_submitted boolean not null default false,
  disabled_reason text,
  -- What the processor wants to have now, by its own names.
  requirements_due text[] not null default '{}',
  -- When the mirror first showed it.
  onboarding_completed_at timestamptz,
  -- Set when a transfer was reversed; only an operator clears it.
  payouts_blocked boolean not null default false,
  mirrored_at timestamptz,
  created_at timestamptz not null,
  -- The owner has cut us off, or the processor does not know the account any more. A new one may take its place.
  deauthorized_at timestamptz,
  -- Part of the idempotency key that makes the account. Counted up when an error was saved under the key.
  create_attempt integer not null default 0,
  -- Of the newest event that led to a look. Older ones change nothing.
  event_at timestamptz,
  -- Looks at the processor are numbered as they begin; what an earlier one saw never replaces what a later one saw.
  looks_begun bigint not null default 0,
  look_mirrored bigint not null default 0
);

-- Events of the processor that were done: each comes at least once, and is done once.
create table stripe_event (
  id text primary key,
  type text not null,
  received_at timestamptz not null
);
create index stripe_event_by_age on stripe_event (received_at);

-- Credits that somebody buys. Pending until the processor has the money.
create table topup (
  id uuid primary key,
  account_id uuid not null,
  amount_cents bigint not null,
  credits bigint not null,
  -- What refunds have asked back of the credits, whether the wallet still had it or not.
  refunded_credits bigint not null default 0,
  state text not null default 'pending',
  source text not null,
  save_payment_method boolean not null default false,
  stripe_session_id text unique,
  stripe_payment_intent_id text unique,
  -- Of an automatic one: what is charged. Frozen here, so that a repeat asks for the very same.
  stripe_customer_id text,
  stripe_payment_method_id text,
  failure_code text,
  -- Of an automatic one that is pending: when somebody asks again what became of it, and how often that was done.
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  closed_at timestamptz,
  constraint topup_is_exact check (credits = amount_cents * 10000 and amount_cents > 0),
  constraint topup_state_is_known check (state in ('pending', 'paid', 'failed', 'expired')),
  constraint topup_source_is_known check (source in ('checkout', 'automatic')),
  constraint topup_refunds_fit check (refunded_credits between 0 and credits)
);
create index topup_by_account on topup (account_id, id);
create unique index topup_one_automatic_in_flight on topup (account_id)
where source = 'automatic' and state = 'pending';

-- Refunds of a top-up that we have heard of. One that failed is kept too: late news must not post it.
create table topup_refund (
  stripe_refund_id text primary key,
  topup_id uuid not null references topup,
  -- What it asked back of the top-up, and what of that the wallet had.
  credits bigint not null,
  taken_credits bigint not null,
  -- How much of that was promotional: it comes back as what it was.
  taken_promotional bigint not null,
  state text not null,
  noted_at timestamptz not null,
  failed_at timestamptz,
  constraint topup_refund_state_is_known check (state in ('done', 'failed')),
  constraint topup_refund_taken_fits check (taken_credits between 0 and credits),
  constraint topup_refund_promotional_fits check (taken_promotional between 0 and taken_credits)
);
create index topup_refund_by_topup on topup_refund (topup_id);

-- A payment that its owner's bank asks back. What the wallet had is kept in the book's account `disputed` meanwhile.
create table topup_dispute (
  stripe_dispute_id text primary key,
  topup_id uuid not null references topup,
  account_id uuid not null,
  credits bigint not null,
  frozen_credits bigint not null,
  -- Of a lost one: what the wallet gave. It is given back if the bank changes its mind.
  taken_credits bigint not null default 0,
  -- How much of what is frozen or taken was promotional: it comes back as what it was.
  taken_promotional bigint not null,
  -- What came back after it was lost. Less than the whole is for an operator to divide.
  reinstated_cents bigint not null default 0,
  state text not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  constraint topup_dispute_state_is_known check (state in ('open', 'won', 'lost')),
  constraint topup_dispute_frozen_fits check (frozen_credits between 0 and credits),
  constraint topup_dispute_taken_fits check (taken_credits between 0 and credits),
  constraint topup_dispute_promotional_fits check (
    taken_promotional between 0 and greatest(frozen_credits, taken_credits))
);
create index topup_dispute_by_topup on topup_dispute (topup_id);
create index topup_dispute_by_account on topup_dispute (account_id);

create table auto_topup (
  account_id uuid primary key references account (id) on delete cascade,
  enabled boolean not null default false,
  threshold_credits bigint not null default 0,
  amount_cents bigint not null default 0,
  monthly_ceiling_cents bigint not null default 0,
  stripe_customer_id text,
  stripe_payment_method_id text,
  payment_method_label text,
  -- Why it is off although the owner had it on.
  switched_off_reason text,
  -- The month in which the owner was told that the ceiling is reached.
  ceiling_told_for date
);
create index auto_topup_enabled on auto_topup (account_id) where enabled;
