// What a program without a browser asks for (RFC 8628): it gets a code to poll with and one to show to its user.

import { type Client, storedUserAgent } from '../../accounts/client.ts'
import { addressBucket } from '../../http/rate-limit.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { mintId } from '../../platform/tokens.ts'
import type { AppRow } from '../app-store.ts'
import type { Scope } from '../scopes.ts'
import {
  digestDeviceCode,
  digestUserCode,
  mintDeviceCode,
  mintUserCode,
  showUserCode,
} from './codes.ts'
import { type DeviceRequestRow, insertRequest, lockAndCountOpen } from './store.ts'

export const LIFETIME_S = 600
/** Seconds between two polls, at first. */
export const INTERVAL_S = 5
/** Open requests of one app from one address: each is a code that somebody could hit by chance. */
const OPEN_MAX = 20
/** Two equal codes among thousands come up once in a million times; twice in a row, never. */
const MINTS_MAX = 5

export type DeviceWish = {
  scopes: Scope[]
  code_challenge: string | null
  client: Client
}

/** Answers the only copies of the two codes. */
export async function openRequest(
  { db, clock }: { db: Db; clock: Clock },
  app: AppRow,
  wish: DeviceWish,
): Promise<{ device_code: string; user_code: string }> {
  requireDeviceGrant(app)
  const now = clock.now()
  return await db.transaction(async (tx) => {
    const asker = { app_id: app.id, asked_bucket: addressBucket(wish.client.ip) }
    const { open, first_end } = await lockAndCountOpen(tx, asker, now)
    if (open >= OPEN_MAX) throw tooManyOpen(first_end, now)
    const device_code = mintDeviceCode()
    const user_code = await insertWithUserCode(tx, {
      ...asker,
      id: mintId({ at: now }),
      device_digest: digestDeviceCode(device_code),
      scopes: wish.scopes,
      code_challenge: wish.code_challenge,
      asked_ip: wish.client.ip,
      asked_agent: storedUserAgent(wish.client),
      created_at: now,
      expires_at: new Date(now.getTime() + LIFETIME_S * 1000),
      interval_s: INTERVAL_S,
    })
    return { device_code, user_code: showUserCode(user_code) }
  })
}

/** Of programs whose developer asked for it: whoever can be made to type a code can be made to type a thief's. */
export function requireDeviceGrant(app: AppRow): void {
  if (app.device_grant) return
  throw new ApiError('unauthorized_client', {
    message: 'This app may not let its users sign in on another device.',
    hint: 'Only a native app with device_grant: true may: PATCH /developers/apps/:id.',
  })
}

/** Waits for a decision, and can still get one. */
export function isUndecided(request: DeviceRequestRow, now: Date): boolean {
  return request.decided_at === null && request.expires_at > now
}

async function insertWithUserCode(
  tx: Tx,
  request: Omit<Parameters<typeof insertRequest>[1], 'user_digest'>,
): Promise<string> {
  for (let mint = 0; mint < MINTS_MAX; mint++) {
    const user_code = mintUserCode()
    if (await insertRequest(tx, { ...request, user_digest: digestUserCode(user_code) })) {
      return user_code
    }
  }
  throw new Error('no user code was free')
}

function tooManyOpen(first_end: Date | null, now: Date): ApiError {
  const wait_ms = (first_end ?? now).getTime() - now.getTime()
  return new ApiError('rate_limit_exceeded', {
    message: `At most ${OPEN_MAX} codes of an app can be open from one address.`,
    headers: { 'retry-after': String(Math.max(1, Math.ceil(wait_ms / 1000))) },
  })
}
