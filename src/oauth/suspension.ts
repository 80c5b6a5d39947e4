// An operator suspends an app: nothing new starts through it, whoever asks is told why, and what runs ends as it would
// have. Its users, links and secrets stay as they are, so that it can be resumed.

import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { type AppRow, clearSuspension, setSuspension } from './app-store.ts'

const REASON_PATTERN = /^[^\p{Cc}]{1,500}$/u

export type SuspensionParts = { feed: InvalidationFeed; clock: Clock; log: Log }

/** Holds on every process within a second. Once more replaces the reason. */
export async function suspendApp(
  parts: SuspensionParts,
  tx: Tx,
  given: { client_id: string; reason: string },
): Promise<AppRow> {
  const reason = given.reason.trim()
  if (!REASON_PATTERN.test(reason)) {
    throw new ApiError('bad_request', {
      message: 'The reason has 1 to 500 characters, on one line.',
    })
  }
  const app = await setSuspension(tx, given.client_id, { at: parts.clock.now(), reason })
  if (!app) throw new ApiError('not_found', { message: `There is no app ${given.client_id}.` })
  await announce(parts, tx, { app, kind: 'app_suspended' })
  return app
}

export async function resumeApp(
  parts: SuspensionParts,
  tx: Tx,
  client_id: string,
): Promise<AppRow> {
  const app = await clearSuspension(tx, client_id)
  if (!app) throw new ApiError('not_found', { message: `No app ${client_id} is suspended.` })
  await announce(parts, tx, { app, kind: 'app_resumed' })
  return app
}

/** What calls through the app, and people whom it sends to us, are answered. */
export function suspended(reason: string): ApiError {
  return new ApiError('forbidden', {
    message: `This app is suspended: ${reason}`,
    hint: 'Its developer can ask whoever runs this service to resume it.',
  })
}

/** The same for the token endpoint. The secret was right: `invalid_client` would say that it was not. */
export function requireActive({ suspended_reason }: AppRow): void {
  if (suspended_reason === null) return
  throw new ApiError('unauthorized_client', {
    message: `This app is suspended: ${suspended_reason}`,
    hint: 'Codes and tokens stay as they are until it is resumed.',
  })
}

async function announce(
  parts: SuspensionParts,
  tx: Tx,
  { app, kind }: { app: AppRow; kind: 'app_suspended' | 'app_resumed' },
): Promise<void> {
  const { client_id, name: app_name, suspended_reason: reason } = app
  await parts.feed.invalidate(tx, [`app:${client_id}`])
  await recordSecurityEvent(parts, tx, {
    account_id: app.developer_id,
    kind,
    at: parts.clock.now(),
    details: { client_id, app_name, ...(reason !== null && { reason }) },
  })
}
