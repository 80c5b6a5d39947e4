-- The developer's account at the payment processor, mirrored: where payouts go, and whether they may.
create table payout_account (
  developer_id uuid primary key references account (id),
  stripe_account_id text unique,
  country text,
  default_currency text,
  charges_enabled boolean not null default false,
  payouts_enabled boolean not null default false,
  details_submitted boolean not null default false,
  disabled_reason text,
  onboarding_completed_at timestamptz,
  -- Set when money came back; an operator clears it.
  payouts_blocked boolean not null default false,
  mirrored_at timestamptz,
  created_at timestamptz not null
);
