-- Second factors of accounts: what somebody shows beside the password. A passkey is kept as its public key, the secret of
-- an authenticator app sealed (it must be read again), recovery codes as SHA-256 digests only.

create table factor (
  id uuid primary key,
  account_id uuid not null references account (id) on delete cascade,
  kind text not null,
  name text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  -- Of an authenticator app: its secret, and the last time step whose code was used, so that no code works twice.
  sealed_secret text,
  last_step bigint,
  -- Of a passkey. The count of its signatures is 0 where the authenticator keeps none.
  credential_id text,
  public_key bytea,
  sign_count bigint,
  transports text[],
  constraint factor_kind_is_known check (kind in ('totp', 'passkey')),
  constraint factor_totp_has_a_secret check (
    (kind = 'totp') = (sealed_secret is not null) and (kind = 'totp') = (last_step is not null)
  ),
  constraint factor_passkey_has_a_key check (
    (kind = 'passkey') = (credential_id is not null)
    and (kind = 'passkey') = (public_key is not null)
    and (kind = 'passkey') = (sign_count is not null)
    and (kind = 'passkey') = (transports is not null)
  ),
  constraint factor_credential_is_unique unique (credential_id)
);
create index factor_by_account on factor (account_id, id);
-- Each app more would be one more code that a guess can hit.
create unique index factor_one_totp on factor (account_id) where kind = 'totp';

-- Each is good once: its use deletes it.
create table recovery_code (
  account_id uuid not null references account (id) on delete cascade,
  code_digest bytea not null,
  created_at timestamptz not null,
  primary key (account_id, code_digest)
);

-- Questions that are open: bound to one account and one purpose, and all but a sign-in to one session. An answer that
-- is right deletes it, as do five wrong ones.
create table factor_challenge (
  id uuid primary key,
  -- Of a sign-in: what its asker knows it by.
  token_digest bytea,
  account_id uuid not null references account (id) on delete cascade,
  -- Without a reference: a session that ends while its question is being answered must not wait for it.
  session_id uuid,
  purpose text not null,
  -- What a passkey signs.
  challenge text not null,
  -- Of an authenticator app that is being added.
  sealed_secret text,
  -- Of a sign-in: the password that was verified, which must still be the one when the second step is done.
  password_hash text,
  wrong_answers integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint factor_challenge_purpose_is_known check (purpose in ('sign_in', 'step_up', 'add_passkey', 'add_totp')),
  constraint factor_challenge_sign_in_has_no_session check ((purpose = 'sign_in') = (session_id is null)),
  constraint factor_challenge_sign_in_has_a_token check ((purpose = 'sign_in') = (token_digest is not null)),
  constraint factor_challenge_sign_in_has_a_password check ((purpose = 'sign_in') = (password_hash is not null)),
  constraint factor_challenge_totp_has_a_secret check ((purpose = 'add_totp') = (sealed_secret is not null)),
  constraint factor_challenge_token_is_unique unique (token_digest)
);
create index factor_challenge_by_account on factor_challenge (account_id, purpose, id);
create index factor_challenge_by_expiry on factor_challenge (expires_at);
