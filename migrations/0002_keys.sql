-- API keys. The secret is shown once; only its digest is kept. A rotation replaces the secret of a key and keeps the
-- one before it for as long as both are to work.

create table api_key (
  id uuid primary key,
  account_id uuid not null references account (id) on delete cascade,
  token_digest bytea not null,
  name text not null,
  billing_mode text not null,
  -- The app it is bound to, if any. Apps come with the OAuth server.
  client_id text,
  prefix text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  rate_limit_per_minute integer,
  spend_limit_credits bigint,
  spend_limit_period text,
  previous_digest bytea,
  previous_secret_until timestamptz,
  -- Null: every endpoint, and every address.
  allowed_endpoints text[],
  allowed_ips text[],
  constraint api_key_digest_is_unique unique (token_digest),
  constraint api_key_billing_mode_is_known check (billing_mode in ('developer', 'user')),
  constraint api_key_rate_limit_is_positive check (rate_limit_per_minute > 0),
  constraint api_key_spend_limit_is_positive check (spend_limit_credits > 0),
  constraint api_key_spend_period_is_known check (spend_limit_period in ('day', 'month', 'total')),
  constraint api_key_spend_limit_is_whole check ((spend_limit_credits is null) = (spend_limit_period is null)),
  constraint api_key_previous_digest_is_unique unique (previous_digest),
  constraint api_key_previous_secret_is_whole check ((previous_digest is null) = (previous_secret_until is null)),
  constraint api_key_endpoints_are_some check (cardinality(allowed_endpoints) between 1 and 50),
  constraint api_key_addresses_are_some check (cardinality(allowed_ips) between 1 and 50)
);
create index api_key_by_account on api_key (account_id, id desc) where revoked_at is null;
