// SQL of webhooks: where developers want to be told.

import { type Queryable, statement, type Tx } from '../platform/db.ts'

export type WebhookRow = {
  id: string
  client_id: string
  app_id: string
  app_name: string
  /** Null: a terminal that listens. */
  url: string | null
  events: string[]
  low_balance_threshold: bigint | null
  active: boolean
  switched_off_at: Date | null
  previous_secret_until: Date | null
  created_at: Date
}

export type SecretRow = {
  secret: string
  previous_secret: string | null
  previous_secret_until: Date | null
}

export type OwnedWebhook = { developer_id: string; id: string }

export type NewWebhook = {
  id: string
  app_id: string
  developer_id: string
  client_id: string
  url: string | null
  listens_until: Date | null
  events: readonly string[]
  low_balance_threshold: bigint | null
  secret: string
  now: Date
}

const COLUMNS = `id, client_id, app_id, (select name from app where app.id = webhook.app_id) as app_name, url, events, low_balance_threshold, active, switched_off_at,
  case when previous_secret_until > ledger_now() then previous_secret_until end as previous_secret_until, created_at`

const FIND_APP = statement<{ id: string; developer_id: string }>(
  'webhooks.find_app',
  'select id, developer_id from app where client_id = $1::text for share',
)

// Two statements: the count of one that waited for the lock itself would be from before the wait. A terminal that is
// gone without having said so does not count.
const LOCK_DEVELOPER = statement<object>(
  'webhooks.lock_developer',
  'select id from account where id = $1::uuid for no key update',
)

const COUNT = statement<{ webhooks: number }>(
  'webhooks.count',
  `select count(*)::integer as webhooks from webhook
   where developer_id = $1::uuid
     and (url is null) = $2::boolean
     and (listens_until is null or listens_until > ledger_now())`,
)

const INSERT = statement<WebhookRow>(
  'webhooks.insert',
  `insert into webhook (id, app_id, developer_id, client_id, url, listens_until, events, low_balance_threshold, secret,
     active_since, judged_since, created_at)
   values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::timestamptz, $7::text[], $8::bigint, $9::text,
     ledger_now(), ledger_now(), $10::timestamptz)
   returning ${COLUMNS}`,
)

const LIST = statement<WebhookRow>(
  'webhooks.list',
  `select ${COLUMNS} from webhook
   where developer_id = $1::uuid
     and url is not null
     and ($2::text is null or client_id = $2::text)
     and ($3::uuid is null or id < $3::uuid)
   order by id desc
   limit $4::integer`,
)

const FIND = statement<WebhookRow>(
  'webhooks.find',
  `select ${COLUMNS} from webhook where developer_id = $1::uuid and id = $2::uuid and url is not null`,
)

// Switched on again, it is told from now on.
const UPDATE = statement<WebhookRow>(
  'webhooks.update',
  `update webhook
   set url = coalesce($3::text, url),
     events = coalesce($4::text[], events),
     low_balance_threshold = case when $5::boolean then $6::bigint else low_balance_threshold end,
     active = coalesce($7::boolean, active),
     active_since = case when $7::boolean and not active then ledger_now() else active_since end,
     judged_since = case when ($7::boolean and not active) or $3::text <> url then ledger_now()
       else judged_since end,
     switched_off_at = case when $7::boolean then null else switched_off_at end
   where developer_id = $1::uuid and id = $2::uuid and url is not null
   returning ${COLUMNS}`,
)

const DELETE = statement<{ id: string }>(
  'webhooks.delete',
  'delete from webhook where developer_id = $1::uuid and id = $2::uuid returning id',
)

// A secret that is replaced twice in an overlap: the oldest of the three ends at once.
const ROTATE = statement<WebhookRow>(
  'webhooks.rotate_secret',
  `update webhook
   set secret = $3::text,
     previous_secret = case when $4::integer > 0 then secret end,
     previous_secret_until = case when $4::integer > 0 then ledger_now() + $4::integer * interval '1 second' end
   where developer_id = $1::uuid and id = $2::uuid and url is not null
   returning ${COLUMNS}`,
)

const FORGET_PREVIOUS_SECRET = statement<WebhookRow>(
  'webhooks.forget_previous_secret',
  `update webhook set previous_secret = null, previous_secret_until = null
   where developer_id = $1::uuid and id = $2::uuid and url is not null
   returning ${COLUMNS}`,
)

// Only failures for so long, of so many events: nothing arrived since, and the first of them is old enough.
const SWITCH_OFF_FAILING = statement<{
  id: string
  url: string
  developer_id: string
  failed_events: bigint
}>(
  'webhooks.switch_off_failing',
  `update webhook w
   set active = false, switched_off_at = ledger_now()
   from (
     select s.webhook_id, sum(s.failed_events) as failed_events, min(s.half_hour) as failing_since
     from webhook_stat s
     join webhook o on o.id = s.webhook_id
     where s.failed > 0
       and s.half_hour >= o.judged_since
       and s.half_hour > coalesce(
         (select max(g.half_hour) from webhook_stat g where g.webhook_id = s.webhook_id and g.delivered > 0),
         '-infinity')
     group by s.webhook_id
   ) f
   where w.id = f.webhook_id
     and w.active
     and w.url is not null
     and f.failed_events >= $1::integer
     and f.failing_since <= ledger_now() - $2::integer * interval '1 second'
   returning w.id, w.url, w.developer_id, f.failed_events::bigint as failed_events`,
)

/** As operators see it, whosever it is. */
export type ForeignWebhook = { id: string; developer_id: string; url: string; active: boolean }

const FIND_ANY = statement<ForeignWebhook>(
  'webhooks.find_any',
  'select id, developer_id, url, active from webhook where id = $1::uuid and url is not null',
)

const SWITCH_OFF = statement<{ id: string }>(
  'webhooks.switch_off',
  `update webhook
   set active = false, switched_off_at = ledger_now()
   where id = $1::uuid and active
   returning id`,
)

const RENEW_LISTENER = statement<{ id: string }>(
  'webhooks.renew_listener',
  `update webhook
   set listens_until = ledger_now() + $2::integer * interval '1 millisecond'
   where id = $1::uuid and listens_until is not null
   returning id`,
)

const LIST_SECRETS = statement<{ id: string; secret: string; previous_secret: string | null }>(
  'webhooks.list_secrets',
  `select id, secret, previous_secret from webhook where id > $1::uuid order by id limit $2::integer`,
)

// Only what was read is replaced: it may have been rotated in between.
const RESEAL = statement<object>(
  'webhooks.reseal',
  `update webhook
   set secret = case when secret = $2::text then $3::text else secret end,
     previous_secret = case when previous_secret = $2::text then $3::text else previous_secret end
   where id = $1::uuid and $2::text in (secret, previous_secret)`,
)

const DELETE_PAST_LISTENERS = statement<{ id: string }>(
  'webhooks.delete_past_listeners',
  `delete from webhook where listens_until < ledger_now() - interval '10 minutes' returning id`,
)

const DELETE_OLD_STATS = statement<{ webhook_id: string }>(
  'webhooks.delete_old_stats',
  `delete from webhook_stat where half_hour < ledger_now() - interval '8 days' returning webhook_id`,
)

const FORGET_ENDED_SECRETS = statement<{ id: string }>(
  'webhooks.forget_ended_secrets',
  `update webhook set previous_secret = null, previous_secret_until = null
   where previous_secret_until < ledger_now()
   returning id`,
)

export async function findAppOfClient(tx: Tx, client_id: string) {
  return (await tx.run(FIND_APP, [client_id]))[0]
}

export async function lockAndCountWebhooks(
  tx: Tx,
  developer_id: string,
  listeners: boolean,
): Promise<number> {
  await tx.run(LOCK_DEVELOPER, [developer_id])
  return (await tx.run(COUNT, [developer_id, listeners]))[0]?.webhooks ?? 0
}

export async function insertWebhook(tx: Tx, row: NewWebhook): Promise<WebhookRow | undefined> {
  const { id, app_id, developer_id, client_id, url, listens_until, events, secret, now } = row
  const [made] = await tx.run(INSERT, [
    id,
    app_id,
    developer_id,
    client_id,
    url,
    listens_until,
    events,
    row.low_balance_threshold,
    secret,
    now,
  ])
  return made
}

export async function listWebhooks(
  db: Queryable,
  developer_id: string,
  page: { client_id: string | undefined; before_id: string | null; count: number },
): Promise<WebhookRow[]> {
  return await db.run(LIST, [developer_id, page.client_id ?? null, page.before_id, page.count])
}

export async function findWebhook(
  db: Queryable,
  { developer_id, id }: OwnedWebhook,
): Promise<WebhookRow | undefined> {
  return (await db.run(FIND, [developer_id, id]))[0]
}

export type WebhookChange = {
  url?: string | undefined
  events?: readonly string[] | undefined
  /** Null switches `balance.low` off. */
  low_balance_threshold?: bigint | null | undefined
  active?: boolean | undefined
}

export async function updateWebhook(
  tx: Tx,
  { developer_id, id }: OwnedWebhook,
  change: WebhookChange,
): Promise<WebhookRow | undefined> {
  const { url, events, low_balance_threshold, active } = change
  const [row] = await tx.run(UPDATE, [
    developer_id,
    id,
    url ?? null,
    events ?? null,
    low_balance_threshold !== undefined,
    low_balance_threshold ?? null,
    active ?? null,
  ])
  return row
}

export async function deleteWebhook(tx: Tx, { developer_id, id }: OwnedWebhook): Promise<boolean> {
  return (await tx.run(DELETE, [developer_id, id])).length > 0
}

export async function replaceSecret(
  tx: Tx,
  { developer_id, id }: OwnedWebhook,
  { secret, overlap_seconds }: { secret: string; overlap_seconds: number },
): Promise<WebhookRow | undefined> {
  return (await tx.run(ROTATE, [developer_id, id, secret, overlap_seconds]))[0]
}

export async function forgetPreviousSecret(
  tx: Tx,
  { developer_id, id }: OwnedWebhook,
): Promise<WebhookRow | undefined> {
  return (await tx.run(FORGET_PREVIOUS_SECRET, [developer_id, id]))[0]
}

export async function switchOffFailing(
  tx: Tx,
  rule: { events: number; seconds: number },
): Promise<{ id: string; url: string; developer_id: string; failed_events: bigint }[]> {
  return await tx.run(SWITCH_OFF_FAILING, [rule.events, rule.seconds])
}

export async function findAnyWebhook(db: Queryable, id: string) {
  return (await db.run(FIND_ANY, [id]))[0]
}

/** False: it was off before. */
export async function switchOff(tx: Tx, id: string): Promise<boolean> {
  return (await tx.run(SWITCH_OFF, [id])).length > 0
}

/** False: it has been deleted. */
export async function renewListener(db: Queryable, id: string, for_ms: number): Promise<boolean> {
  return (await db.run(RENEW_LISTENER, [id, for_ms])).length > 0
}

export async function listSecrets(db: Queryable, page: { after_id: string; count: number }) {
  return await db.run(LIST_SECRETS, [page.after_id, page.count])
}

export async function replaceSealed(
  db: Queryable,
  { id, sealed, resealed }: { id: string; sealed: string; resealed: string },
): Promise<void> {
  await db.run(RESEAL, [id, sealed, resealed])
}

/** Listeners that are gone, counts that nobody asks for, secrets whose overlap is over. */
export async function forgetOldWebhookRows(db: Queryable): Promise<void> {
  await db.run(DELETE_PAST_LISTENERS)
  await db.run(DELETE_OLD_STATS)
  await db.run(FORGET_ENDED_SECRETS)
}
