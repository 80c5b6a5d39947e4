-- What was used, by the hour and by the day (UTC), for whoever may see it: the account that paid and the developer whose app or key it
-- was. docs/decisions/0029 says why the sums are exact at any instant.

create type usage_status as enum ('ok', 'cut', 'failed');

-- How a call went, by what ended it (usage_event.outcome, failed_call.outcome): `ok`; `cut`: it ended early, but nothing
-- was wrong with it; `failed`.
create function usage_status_of(p_outcome text) returns usage_status
language sql immutable parallel safe as $$
  select case
    when p_outcome is null or p_outcome = 'complete' then 'ok'::usage_status
    when p_outcome in ('failed', 'refused') then 'failed'::usage_status
    else 'cut'::usage_status
  end
$$;

-- A call, or several that differ in nothing that is counted, with their amounts together.
create type usage_fact as (
  at timestamptz, wallet_id uuid, developer_id uuid, key_id uuid, client_id text, external_user_id text,
  billing_mode billing_mode, model text, status usage_status, error_code text, credits bigint, cost_credits bigint,
  markup_credits bigint, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
  output_tokens bigint, requests bigint
);

-- A call is counted in several grains, so that whoever asks neither by key nor by user adds up no row for each of them
-- (docs/decisions/0042). Grain 0 has all calls, with neither. The others have the keys: 1 has calls without an external
-- user, 2 those with one together, 3 those of each user. 1 and 2 are all calls, and so are 1 and 3.
-- Grains 4 to 7 are the same by the day, whose beginning `hour` then is: a year of days is read as fast as two weeks of hours.
-- Grain 8 is the whole service by the hour, for operators: its owner is the nil id, and it has neither keys, apps nor
-- users.
create table usage_hour (
  hour timestamptz not null,
  credits bigint not null,
  -- Of these, what the owner's own wallet paid.
  own_credits bigint not null,
  cost_credits bigint not null,
  markup_credits bigint not null,
  requests bigint not null,
  errors bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  status usage_status not null,
  billing_mode billing_mode not null,
  grain smallint not null,
  owner_id uuid not null,
  key_id uuid,
  model text not null,
  client_id text,
  external_user_id text,
  error_code text,
  constraint usage_hour_is_unique unique nulls not distinct
    (owner_id, grain, hour, model, key_id, client_id, external_user_id, billing_mode, status, error_code)
) with (fillfactor = 70);

-- What each account used through each app, by the month (UTC).
create table app_usage (
  month date not null,
  credits bigint not null,
  markup_credits bigint not null,
  requests bigint not null,
  last_used_at timestamptz not null,
  account_id uuid not null,
  client_id text not null,
  primary key (client_id, account_id, month)
) with (fillfactor = 70);

insert into event_cursor (reader, done, done_at, after_xid, after_id)
values ('usage', pg_current_snapshot(), now(), '0', 0);
