// The security log of an account: every event is one row for its owner and one line in the log of the service, never
// with a secret. Recorded in the transaction of what it tells, so that there is no change without its event; what the
// owner is told by mail is queued there too.

import { readCursor, toPage } from '../../http/schemas.ts'
import type { Db, Queryable } from '../../platform/db.ts'
import type { Log } from '../../platform/log.ts'
import { mintId } from '../../platform/tokens.ts'
import { type Client, describeDevice, describePlace, storedUserAgent } from '../client.ts'
import { alertWords } from './alerts.ts'
import { type EventKind, SECURITY_EVENTS, type SecurityEvent } from './event-kinds.ts'
import { insertSecurityEvent, listSecurityEvents, queueAlert, touchPlace } from './store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Mails of one kind to one account in a day: whoever repeats an act must not fill the owner's mail box. */
const MAILS_OF_A_KIND_MAX = 5
/** Rows, likewise: more of them would tell the owner nothing more. The line in the log is always written. */
const EVENTS_OF_A_KIND_MAX = 1_000

export async function recordSecurityEvent(
  { log }: { log: Log },
  tx: Queryable,
  event: SecurityEvent,
): Promise<void> {
  const { account_id, kind, at, client, session_id = null, details = {} } = event
  const { mailed, by_operator }: EventKind = SECURITY_EVENTS[kind]
  const since_id = mintId({ at: new Date(at.getTime() - DAY_MS) })
  if (mailed) {
    await queueAlert(tx, {
      id: mintId({ at }),
      account_id,
      kind,
      purpose: by_operator ? 'notice' : 'security_alert',
      ...alertWords(event),
      at,
      since_id,
      max: MAILS_OF_A_KIND_MAX,
    })
  }
  const row = {
    id: mintId({ at }),
    at,
    account_id,
    session_id,
    kind,
    ip: client?.ip ?? null,
    user_agent: client === undefined ? null : storedUserAgent(client),
    details,
  }
  await insertSecurityEvent(tx, row, { since_id, max: EVENTS_OF_A_KIND_MAX })
  // The details stand apart, so that none of them can take the place of a field of the line.
  log.info({ security_event: kind, account_id, session_id, ip: client?.ip, details }, 'security')
}

/** Of a session that was just opened. The place of the registration is where the owner is at home. */
export async function recordSignIn(
  parts: { log: Log },
  tx: Queryable,
  entry: { account_id: string; session_id: string; client: Client; at: Date; registered: boolean },
): Promise<void> {
  const { account_id, session_id, client, at, registered } = entry
  const is_new = await touchPlace(tx, {
    account_id,
    place: describePlace(client.ip),
    device: describeDevice(client.user_agent),
    at,
  })
  await recordSecurityEvent(parts, tx, {
    account_id,
    kind: is_new && !registered ? 'sign_in_from_new_place' : 'sign_in',
    at,
    client,
    session_id,
  })
}

/** Newest first. */
export async function listOwnEvents(
  { db }: { db: Db },
  owner: { account_id: string; session_id: string },
  page: { cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const wanted = { before_id, count: page.limit + 1 }
  const rows = await listSecurityEvents(db, owner.account_id, wanted)
  const events = toPage(rows, page.limit, (row) => row.id)
  const data = events.data.map(({ user_agent, ...row }) => ({
    ...row,
    says: saysOf(row.kind),
    device: user_agent === null ? null : describeDevice(user_agent),
    current: row.session_id === owner.session_id,
  }))
  return { ...events, data }
}

export type OwnEvent = Awaited<ReturnType<typeof listOwnEvents>>['data'][number]

/** A kind that a newer version wrote is shown by its word. */
function saysOf(kind: string): string {
  const known: Readonly<Record<string, EventKind>> = SECURITY_EVENTS
  return known[kind]?.says ?? kind.replaceAll('_', ' ')
}
