-- Apps of developers, and the users who let an app spend their credits. Secrets are kept as SHA-256 digests.
--   app              what a developer registers (an OAuth client)
--   app_connection   one user and one app: the user's spending cap, and whether they are connected
--   oauth_grant      one consent; the family of every token that came of it. Ending it ends them all
--   hosted_link      the developer's own name for a user, where the server keeps the grant
-- Whoever changes grants locks in this order: links (by advisory lock), apps, grants, connections, wallets; several
-- of one kind in the order of their ids.

create table app (
  id uuid primary key,
  developer_id uuid not null references account (id) on delete cascade,
  client_id text not null,
  -- Where its code runs; never changes. Only a web server can keep a secret.
  client_type text not null default 'web_server',
  secret_digest bytea,
  -- The one before, while it is still good.
  previous_secret_digest bytea,
  previous_secret_expires_at timestamptz,
  name text not null,
  redirect_uris text[] not null,
  -- Pages that may call with its tokens, beside those of its redirect URIs.
  origins text[] not null default '{}',
  -- Whether users may sign in on another device (RFC 8628).
  device_grant boolean not null default false,
  allowed_scopes text[] not null,
  -- What the developer adds to the price of a call, in hundredths of a percent.
  markup_bps integer not null,
  -- A hosted link is made only where the exchange names the user again.
  require_external_user_id boolean not null default false,
  created_at timestamptz not null,
  -- By an operator: nothing new starts through it, and whoever asks is told why.
  suspended_at timestamptz,
  suspended_reason text,
  constraint app_suspension_has_a_reason check ((suspended_at is null) = (suspended_reason is null)),
  constraint app_previous_secret_ends check (
    (previous_secret_digest is null) = (previous_secret_expires_at is null)
  ),
  constraint app_client_id_is_unique unique (client_id),
  constraint app_client_type_is_known check (client_type in ('web_server', 'browser', 'native')),
  constraint app_secret_is_of_a_web_server check ((client_type = 'web_server') = (secret_digest is not null)),
  constraint app_device_grant_is_native check (client_type = 'native' or not device_grant),
  constraint app_scopes_are_known check (
    allowed_scopes <@ array['credits.read', 'credits.spend'] and cardinality(allowed_scopes) > 0
  ),
  constraint app_markup_is_a_share check (markup_bps between 0 and 10000)
);
create index app_by_developer on app (developer_id, id desc);
-- By the beginning of a name.
create index app_by_name on app (lower(name) collate "C", id);

-- A key bound to an app is bound to one of its owner's, and goes with it.
create unique index app_of_developer on app (developer_id, client_id);
alter table api_key add constraint api_key_app_is_the_owners
foreign key (account_id, client_id) references app (developer_id, client_id) on delete cascade;
create index api_key_by_app on api_key (account_id, client_id) where client_id is not null;

-- Stays when its grants end, so that the count of the month goes on if the user comes back.
create table app_connection (
  -- Also the owner of the counter of what the app spent (spend_counter).
  id uuid primary key,
  app_id uuid not null references app (id) on delete cascade,
  -- Null once the account is gone: its tokens then lead to no user.
  account_id uuid references account (id) on delete set null,
  -- What the app may spend in a day or month (UTC); null is without limit.
  cap_credits bigint,
  cap_period text not null default 'month',
  -- Whether the user has chosen it. Until then a cap is proposed, also where none holds.
  cap_chosen boolean not null default false,
  -- The markup that the user saw and allowed last: a higher one of the app does not hold for them.
  agreed_markup_bps integer not null,
  created_at timestamptz not null,
  -- Since when at least one grant is live; null while none is.
  connected_at timestamptz,
  constraint app_connection_is_unique unique (account_id, app_id),
  constraint app_connection_cap_period_is_known check (cap_period in ('day', 'month')),
  constraint app_connection_cap_is_positive check (cap_credits between 1 and 9007199254740991)
);
create index app_connection_by_app on app_connection (app_id);

create table oauth_grant (
  id uuid primary key,
  connection_id uuid not null references app_connection (id) on delete cascade,
  scopes text[] not null,
  -- With hosted storage: the developer's name for the user. A link only once the code is exchanged.
  external_user_id text,
  created_at timestamptz not null,
  -- When the code was exchanged; before that the grant gives nothing.
  activated_at timestamptz,
  ended_at timestamptz,
  -- When it ends for want of use; every refresh moves it on, up to `expires_at`. Both are null for a hosted
  -- grant, which ends when its link was not used for long (HOSTED_GRANT_IDLE_DAYS).
  lapses_at timestamptz,
  expires_at timestamptz,
  -- The thumbprint of the key (RFC 7638) that the app showed with the code: every refresh needs that key.
  dpop_jkt text,
  -- To the day, and kept for hosted grants only.
  last_used_at timestamptz
);
create index oauth_grant_by_connection on oauth_grant (connection_id);
create index oauth_grant_never_activated on oauth_grant (created_at) where activated_at is null;
create index oauth_grant_by_end on oauth_grant (ended_at) where ended_at is not null;
create index oauth_grant_by_lapse on oauth_grant (lapses_at) where ended_at is null;
create index oauth_grant_by_last_use on oauth_grant (last_used_at)
where ended_at is null and external_user_id is not null;

create table oauth_code (
  code_digest bytea primary key,
  grant_id uuid not null references oauth_grant (id) on delete cascade,
  redirect_uri text not null,
  code_challenge text not null,
  expires_at timestamptz not null,
  -- Used ones are kept for a while: a second use ends the grant.
  consumed_at timestamptz
);
create index oauth_code_by_grant on oauth_code (grant_id);
create index oauth_code_by_expiry on oauth_code (expires_at);

create table oauth_access_token (
  token_digest bytea primary key,
  grant_id uuid not null references oauth_grant (id) on delete cascade,
  scopes text[] not null,
  expires_at timestamptz not null
);
create index oauth_access_token_by_grant on oauth_access_token (grant_id);
create index oauth_access_token_by_expiry on oauth_access_token (expires_at);

create table oauth_refresh_token (
  token_digest bytea primary key,
  grant_id uuid not null references oauth_grant (id) on delete cascade,
  expires_at timestamptz not null,
  -- Rotated ones are kept until they expire: a second use is how theft shows.
  rotated_at timestamptz,
  successor_digest bytea,
  -- The answer that the rotation gave, for a client that did not receive it. Sealed with a key that only
  -- the rotated token itself yields.
  replay bytea,
  constraint oauth_refresh_token_rotation_is_whole check (
    (rotated_at is null) = (successor_digest is null)
  )
);
create index oauth_refresh_token_by_grant on oauth_refresh_token (grant_id);
create index oauth_refresh_token_by_expiry on oauth_refresh_token (expires_at);
create index oauth_refresh_token_replayable on oauth_refresh_token (rotated_at) where replay is not null;

-- Proofs of a key (RFC 9449) that were used, until they are too old to be accepted: each is good once.
create table dpop_proof (
  -- Of the key's thumbprint and the proof's own id.
  proof_digest bytea primary key,
  expires_at timestamptz not null
);
create index dpop_proof_by_expiry on dpop_proof (expires_at);

-- Live links only: ending the grant deletes the row.
create table hosted_link (
  app_id uuid not null references app (id) on delete cascade,
  external_user_id text not null,
  developer_id uuid not null references account (id) on delete cascade,
  grant_id uuid not null references oauth_grant (id) on delete cascade,
  linked_at timestamptz not null,
  primary key (app_id, external_user_id)
);
create index hosted_link_by_developer on hosted_link (developer_id, external_user_id, linked_at desc);
create index hosted_link_by_grant on hosted_link (grant_id);
