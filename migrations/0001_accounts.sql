-- Accounts, their sessions and the mail they are owed. Secrets are stored as SHA-256 digests only.

create table account (
  id uuid primary key,
  email text not null,
  -- Trimmed, normalised and lower-cased by the service, because lower() depends on the server's locale.
  email_key text not null,
  password_hash text not null,
  email_verified_at timestamptz,
  created_at timestamptz not null,
  -- By which way its owner registered: an app sent the others to the page of consent.
  came_from text not null default 'registration',
  is_operator boolean not null default false,
  -- Below this the owner is told by mail; null: never.
  low_balance_credits bigint default 500000,
  -- By an operator: nothing new starts, and whoever asks is told why.
  suspended_at timestamptz,
  suspended_reason text,
  -- When it is deleted, unless the owner comes back before.
  closes_at timestamptz,
  constraint account_came_from_is_known check (came_from in ('registration', 'consent')),
  constraint account_suspension_has_a_reason check ((suspended_at is null) = (suspended_reason is null)),
  constraint account_email_is_unique unique (email_key),
  constraint account_low_balance_is_positive check (low_balance_credits between 1 and 9007199254740991)
);
-- By the beginning of an address, whatever the server's locale sorts by.
create index account_by_email on account (email_key collate "C");
create index account_by_closing on account (closes_at) where closes_at is not null;

create table session (
  token_digest bytea primary key,
  id uuid not null unique,
  account_id uuid not null references account (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- When the owner last showed who they are, with the password or a second factor: what step-up.ts asks for.
  proved_at timestamptz not null,
  -- To the minute or so: written in batches.
  last_seen_at timestamptz not null,
  ip text,
  user_agent text
);
create index session_by_account on session (account_id);
create index session_by_expiry on session (expires_at);

-- Where an account was signed in to before: digests of cookies, and of address ranges.
create table known_device (
  account_id uuid not null references account (id) on delete cascade,
  kind text not null,
  digest bytea not null,
  last_used_at timestamptz not null,
  primary key (account_id, kind, digest),
  constraint known_device_kind_is_known check (kind in ('device', 'address'))
);
create index known_device_by_use on known_device (last_used_at);

-- Sign-ins that failed today. The subject is the digest of an email address, known or not, of an address range, or of a
-- device.
create table sign_in_failure (
  day date not null,
  subject bytea not null,
  count integer not null,
  last_at timestamptz not null,
  primary key (day, subject)
);

-- Proofs that travel by mail: each is good once. `email` is the address it was sent to, so a proof does
-- not outlive a change of address.
create table mail_token (
  token_digest bytea primary key,
  account_id uuid not null references account (id) on delete cascade,
  purpose text not null,
  email text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint mail_token_purpose_is_known check (
    purpose in ('verify_email', 'reset_password', 'change_email_from', 'change_email_to', 'security_alert')
  )
);
create index mail_token_by_account on mail_token (account_id, purpose);
create index mail_token_by_expiry on mail_token (expires_at);

-- Mail to be sent. The token of a link is made when the mail is sent, so no secret waits here; a notice and an alert
-- have their words.
create table mail_outbox (
  id uuid primary key,
  account_id uuid not null references account (id) on delete cascade,
  purpose text not null,
  created_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  -- Null: the account's address, whatever it is when the mail is sent.
  to_email text,
  subject text,
  words text,
  constraint mail_outbox_purpose_is_known check (
    purpose in ('verify_email', 'reset_password', 'change_email_from', 'change_email_to', 'security_alert', 'notice')
  ),
  constraint mail_outbox_notice_has_words check (
    (purpose in ('security_alert', 'notice')) = (subject is not null) and (subject is null) = (words is null)
  )
);
create index mail_outbox_due on mail_outbox (next_attempt_at);
create index mail_outbox_by_account on mail_outbox (account_id, purpose);

-- A change of address that was asked for: at most one for each account. It takes effect when both addresses agreed.
create table email_change (
  account_id uuid primary key references account (id) on delete cascade,
  old_email text not null,
  new_email text not null,
  asked_at timestamptz not null,
  expires_at timestamptz not null,
  old_confirmed_at timestamptz,
  new_confirmed_at timestamptz
);
create index email_change_by_expiry on email_change (expires_at);

-- What happened to the safety of an account, for its owner and for whoever looks into a break-in. Never a secret.
create table security_event (
  at timestamptz not null,
  id uuid primary key,
  account_id uuid not null references account (id) on delete cascade,
  -- The session it was done with, if any.
  session_id uuid,
  kind text not null,
  ip text,
  user_agent text,
  details jsonb not null default '{}'
);
create index security_event_by_account on security_event (account_id, id desc);
create index security_event_by_time on security_event (at);

-- From where and with what an account was signed in to: a sign-in that adds a row here is one from a new place.
create table known_place (
  account_id uuid not null references account (id) on delete cascade,
  -- The range of the address, and what the user agent says, both in a few words.
  place text not null,
  device text not null,
  last_seen_at timestamptz not null,
  primary key (account_id, place, device)
);
create index known_place_by_age on known_place (last_seen_at);

-- What every process must forget from its credential cache. Each polls it; NOTIFY only makes it faster.
-- written_by is the writing transaction: readers ask for everything since the oldest transaction that was
-- still open at their last look, so a row that commits late is never missed.
create table invalidation (
  id bigint generated always as identity primary key,
  tag text not null,
  written_by xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default now()
);
create index invalidation_by_transaction on invalidation (written_by);
