-- Webhooks: who is told of what happened, and how the telling went.
--   event_cursor       how far each reader of the outbox has come
--   webhook            where a developer wants to be told of the events of an app
--   webhook_delivery   one event for one webhook, with the exact bytes that are sent
--   webhook_attempt    each time it was sent, and what came back
--   webhook_stat       what came of them, by half hour
-- Deliveries and attempts are partitioned by the week of the event and dropped, not deleted
-- (keep_webhook_partitions). They have no DEFAULT partition: what has no place yet waits in the outbox.

-- Everything that the snapshot `done` sees has been read. While `target` is set a pass is under way: it reads what
-- target sees and done does not, in the order of (written_by, id), and has come to `after`.
create table event_cursor (
  done_at timestamptz not null,
  target_at timestamptz,
  after_xid xid8 not null,
  after_id bigint not null,
  reader text primary key,
  done pg_snapshot not null,
  target pg_snapshot
) with (fillfactor = 50);
insert into event_cursor (reader, done, done_at, after_xid, after_id)
values ('webhooks', pg_current_snapshot(), now(), '0', 0);

create table webhook (
  id uuid primary key,
  app_id uuid not null references app (id) on delete cascade,
  developer_id uuid not null references account (id) on delete cascade,
  client_id text not null,
  -- Null: a terminal that listens instead, while `listens_until` is ahead.
  url text,
  listens_until timestamptz,
  events text[] not null,
  low_balance_threshold bigint,
  active boolean not null default true,
  -- Nothing that happened before is told: neither before it was made nor while it was off.
  active_since timestamptz not null,
  -- What failed before is not held against it: it was off, or at another address.
  judged_since timestamptz not null,
  -- Set where we switched it off, because it only failed.
  switched_off_at timestamptz,
  -- Sealed with the secrets key of the service.
  secret text not null,
  -- The one before, while both are used.
  previous_secret text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  constraint webhook_has_events check (cardinality(events) > 0),
  constraint webhook_threshold_is_positive check (low_balance_threshold between 1 and 9007199254740991),
  constraint webhook_goes_somewhere check ((url is null) = (listens_until is not null)),
  constraint webhook_previous_secret_ends check ((previous_secret is null) = (previous_secret_until is null))
);
create index webhook_by_developer on webhook (developer_id, id desc);
create index webhook_by_client on webhook (client_id);
create index webhook_by_app on webhook (app_id);
create index webhook_listening on webhook (listens_until) where listens_until is not null;

create type delivery_status as enum ('pending', 'delivered', 'failed', 'cancelled');

-- The id is made of event and webhook, so the same event is never queued twice for one webhook.
create table webhook_delivery (
  -- Of the event.
  created_at timestamptz not null,
  -- Or asked for again: retries end 24 hours later.
  queued_at timestamptz not null,
  -- When the next attempt is due; while somebody sends it, when their lease ends. Null: there is none.
  due_at timestamptz,
  delivered_at timestamptz,
  status delivery_status not null,
  attempts smallint not null default 0,
  retries_left smallint not null,
  test boolean not null default false,
  id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  body text not null,
  primary key (webhook_id, id, created_at),
  -- To the millisecond: the id has no more, and neither has the service.
  constraint webhook_delivery_time_is_short check (created_at = date_trunc('milliseconds', created_at)),
  constraint webhook_delivery_is_due_while_pending check ((status = 'pending') = (due_at is not null)),
  constraint webhook_delivery_time_of_delivery check ((status = 'delivered') <= (delivered_at is not null))
) partition by range (created_at);
create index webhook_delivery_due on webhook_delivery (webhook_id, due_at) where due_at is not null;
create index webhook_delivery_not_arrived on webhook_delivery (webhook_id, id) where status in ('failed', 'cancelled');

create table webhook_attempt (
  -- Of the delivery's event.
  created_at timestamptz not null,
  at timestamptz not null,
  duration_ms integer not null,
  response_status smallint not null,
  number smallint not null,
  delivery_id uuid not null,
  outcome text not null,
  -- A sentence for the developer.
  reason text not null,
  -- The first 4 KiB of the answer.
  response_body text,
  request_headers text not null
) partition by range (created_at);
create index webhook_attempt_of_delivery on webhook_attempt (delivery_id, number);

-- Attempts by half hour. `failed_events` counts events whose first attempt failed. `durations` is a histogram
-- (src/webhooks/stats.ts). Without a foreign key: a webhook may go while its last attempt is under way.
create table webhook_stat (
  half_hour timestamptz not null,
  delivered integer not null,
  failed integer not null,
  failed_events integer not null,
  webhook_id uuid not null,
  durations integer[] not null,
  primary key (webhook_id, half_hour)
) with (fillfactor = 50);
create index webhook_stat_by_age on webhook_stat (half_hour);
create index webhook_stat_failing on webhook_stat (half_hour desc, webhook_id) where failed > 0;
