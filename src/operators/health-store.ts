// SQL of what waits: mail, events, webhooks. Counts end at a bound, so a long queue costs no more than a short one.

import { statement } from '../platform/db.ts'

export type WaitingRow = {
  mails: bigint
  mail_due_at: Date | null
  usage_read_at: Date | null
  webhooks_read_at: Date | null
  processes: bigint
  migrations: bigint
  last_migration: string | null
  audit_at: Date | null
  payout_run_at: Date | null
  payout_run_outcome: string | null
}

/** $1: where counting ends. */
export const READ_WAITING = statement<WaitingRow>(
  'operators.read_waiting',
  `select
     (select count(*) from (select from mail_outbox limit $1::integer) m) as mails,
     (select min(next_attempt_at) from mail_outbox) as mail_due_at,
     (select done_at from event_cursor where reader = 'usage') as usage_read_at,
     (select done_at from event_cursor where reader = 'webhooks') as webhooks_read_at,
     (select count(*) from (select from gateway_node limit $1::integer) n) as processes,
     (select count(*) from migration) as migrations,
     (select max(name) from migration) as last_migration,
     (select nullif(taken_at, '-infinity') from ledger_turn where job = 'audit') as audit_at,
     r.started_at as payout_run_at, r.outcome as payout_run_outcome
   from (values (1)) one
   left join lateral (select started_at, outcome from payout_run order by id desc limit 1) r on true`,
)

export type BacklogRow = {
  webhook_id: string
  client_id: string | null
  developer_id: string | null
  url: string | null
  active: boolean | null
  next_due_at: Date
  pending: bigint
  due: bigint
}

/**
 * Webhooks with something to send, from one to the next in the index: the first $1 of them, and of each at most $2
 * deliveries are counted.
 */
export const LIST_BACKLOG = statement<BacklogRow>(
  'operators.list_backlog',
  `with recursive waiting (webhook_id, due_at, number) as (
     (select webhook_id, due_at, 1
      from webhook_delivery
      where due_at is not null
      order by webhook_id, due_at
      limit 1)
     union all
     select d.webhook_id, d.due_at, w.number + 1
     from waiting w
     cross join lateral (
       select webhook_id, due_at
       from webhook_delivery
       where due_at is not null and webhook_id > w.webhook_id
       order by webhook_id, due_at
       limit 1
     ) d
     where w.number < $1::integer
   )
   select w.webhook_id, o.client_id, o.developer_id, split_part(o.url, '?', 1) as url, o.active,
     w.due_at as next_due_at, p.pending, p.due
   from waiting w
   left join webhook o on o.id = w.webhook_id
   cross join lateral (
     select count(*) as pending, count(*) filter (where due_at <= ledger_now()) as due
     from (
       select due_at from webhook_delivery
       where webhook_id = w.webhook_id and due_at is not null
       order by due_at
       limit $2::integer
     ) d
   ) p
   order by w.due_at`,
)

export type FailingRow = {
  webhook_id: string
  client_id: string
  developer_id: string
  url: string
  active: boolean
  switched_off_at: Date | null
  failed: bigint
  failed_events: bigint
  delivered: bigint
  last_failed_at: Date
}

/** By what failed in the last 24 hours: of the newest $1 half hours in which something did, the worst $2 webhooks. */
export const LIST_FAILING = statement<FailingRow>(
  'operators.list_failing',
  `select f.webhook_id, w.client_id, w.developer_id, split_part(w.url, '?', 1) as url, w.active, w.switched_off_at,
     f.failed, f.failed_events, f.last_failed_at, d.delivered
   from (
     select webhook_id, sum(failed)::bigint as failed, sum(failed_events)::bigint as failed_events,
       max(half_hour) as last_failed_at
     from (
       select webhook_id, half_hour, failed, failed_events
       from webhook_stat
       where failed > 0 and half_hour > ledger_now() - interval '24 hours'
       order by half_hour desc
       limit $1::integer
     ) newest
     group by webhook_id
     order by failed desc, webhook_id
     limit $2::integer
   ) f
   join webhook w on w.id = f.webhook_id and w.url is not null
   cross join lateral (
     select coalesce(sum(delivered), 0)::bigint as delivered
     from webhook_stat
     where webhook_id = f.webhook_id and half_hour > ledger_now() - interval '24 hours'
   ) d
   order by f.failed desc, f.webhook_id`,
)
