// Who pays: the one place that decides which wallet a call is charged to.

import type { FastifyRequest } from 'fastify'
import { requireLinkedUser } from '../accounts/links.ts'
import { type KeyPrincipal, keyOf } from '../http/access.ts'
import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { SpendLimit } from '../wallet/spend.ts'

export type Payer = {
  /** The wallet that is charged. */
  account_id: string
  billing_mode: 'developer' | 'user'
  /** Whose key or app it is; earns the markup of a user-billed call. */
  developer_id: string
  /** The app a user-billed call came through. */
  client_id: string | null
  external_user_id: string | null
  /** The developer's markup in hundredths of a percent; 0 where payer and developer are one. */
  markup_bps: number
  /** What the user lets the app spend, if the user said so. */
  cap: SpendLimit | null
}

const USER_ID_LENGTH_MAX = 255

/** How a call names its end user. */
type NamedUser = { external_user_id: string; by: 'X-Svc-User' | 'X-External-User-ID' | 'path' }

export async function resolvePayer(db: Queryable, request: FastifyRequest): Promise<Payer> {
  const key = keyOf(request)
  const user = readNamedUser(request)
  if (key.billing_mode === 'developer') {
    if (!user) return developerPays(key)
    if (user.by !== 'X-Svc-User') {
      throw new ApiError('bad_request', {
        message: 'This key bills the developer, but the request names a user to bill.',
        hint: 'Send X-Svc-User, or use a key made with billing_mode "user".',
      })
    }
  } else if (!user) {
    throw new ApiError('bad_request', {
      message: 'This key bills the end user, but the request does not say which.',
      hint: 'Send X-Svc-User or X-External-User-ID with the external user id, call /v1/users/<external_user_id>/…, or send the key as X-API-Key and the user’s access token as bearer.',
    })
  }
  return await userPays(db, key, user.external_user_id)
}

function developerPays(key: KeyPrincipal): Payer {
  return {
    account_id: key.account_id,
    billing_mode: 'developer',
    developer_id: key.account_id,
    client_id: key.client_id,
    external_user_id: null,
    markup_bps: 0,
    cap: null,
  }
}

async function userPays(
  db: Queryable,
  key: KeyPrincipal,
  external_user_id: string,
): Promise<Payer> {
  const link = await requireLinkedUser(db, {
    developer_id: key.account_id,
    external_user_id,
    client_id: key.client_id,
  })
  return {
    account_id: link.account_id,
    billing_mode: 'user',
    developer_id: key.account_id,
    client_id: link.client_id,
    external_user_id,
    markup_bps: 0,
    cap: null,
  }
}

function readNamedUser(request: FastifyRequest): NamedUser | undefined {
  const named: NamedUser[] = []
  const add = (by: NamedUser['by'], value: unknown) => {
    if (value !== undefined) named.push({ by, external_user_id: requireUserId(by, value) })
  }
  add('X-Svc-User', request.headers['x-svc-user'])
  add('X-External-User-ID', request.headers['x-external-user-id'])
  add('path', pathUser(request.params))
  const [first] = named
  if (named.some((other) => other.external_user_id !== first?.external_user_id)) {
    throw new ApiError('bad_request', { message: 'The request names two different users.' })
  }
  // A name that only a user key may use decides, wherever else the same name stands.
  return named.find((one) => one.by !== 'X-Svc-User') ?? first
}

function pathUser(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'external_user_id' in params
    ? params.external_user_id
    : undefined
}

function requireUserId(by: string, value: unknown): string {
  const fits =
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= USER_ID_LENGTH_MAX &&
    !value.includes('\u0000')
  if (fits) return value
  throw new ApiError('bad_request', {
    message: `${by} must be one external user id of 1 to ${USER_ID_LENGTH_MAX} characters.`,
  })
}
