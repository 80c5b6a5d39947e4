-- Sign-in on another device (RFC 8628): a program without a browser asks, shows its user a short code, and polls; the
-- user types the code on our page. Both codes are kept as SHA-256 digests, and a row lives for ten minutes and an hour.

create table device_request (
  id uuid primary key,
  app_id uuid not null references app (id) on delete cascade,
  -- What the program polls with.
  device_digest bytea not null,
  -- What the user types.
  user_digest bytea not null,
  scopes text[] not null,
  -- PKCE, where the program sent one.
  code_challenge text,
  -- Where it was asked, for the user to compare with where they are.
  asked_ip text not null,
  asked_agent text,
  -- The customer of a network whose open codes are counted together.
  asked_bucket text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Seconds between two polls; grows with each that came too early.
  interval_s integer not null,
  polled_at timestamptz,
  -- When the user decided. With a grant they allowed it, without they denied it.
  decided_at timestamptz,
  grant_id uuid references oauth_grant (id) on delete cascade,
  -- When the tokens were given. It happens once.
  consumed_at timestamptz,
  constraint device_request_device_code_is_unique unique (device_digest),
  constraint device_request_user_code_is_unique unique (user_digest),
  constraint device_request_grant_is_a_decision check (grant_id is null or decided_at is not null),
  constraint device_request_tokens_need_a_grant check (consumed_at is null or grant_id is not null)
);
create index device_request_by_asker on device_request (app_id, asked_bucket, expires_at);
create index device_request_by_expiry on device_request (expires_at);
create index device_request_by_grant on device_request (grant_id) where grant_id is not null;
