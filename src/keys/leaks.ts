// Keys that a scanner found in public. Whoever presents a secret has it, and having it is enough to end it: nobody needs to
// be believed. A secret that a rotation has replaced ends alone, and the key goes on with its new one.

import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import type { Client } from '../accounts/sessions.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { digestSecret, isWellFormedApiKey } from '../platform/tokens.ts'
import type { KeyParts } from './keys.ts'
import { endSecret, type LeakedKey, lockLeaked } from './leak-store.ts'

export const REPORTS_MAX = 100
const TOKEN_LENGTH_MAX = 1_000
const TYPE_LENGTH_MAX = 100
const URL_LENGTH_MAX = 4_000
const PLACE_LENGTH_MAX = 300
const SOURCE_LENGTH_MAX = 50

export type LeakParts = Pick<KeyParts, 'db' | 'feed' | 'clock' | 'log'>

/** One finding, as GitHub sends it. */
export type LeakReport = { token: string; type: string; url: string; source: string }

export type Reporter = {
  client: Client
  /** Whether the report is signed by one of the keys that are trusted. */
  is_signed: boolean
}

/** What GitHub calls a key of ours, and what is none. */
export type Label = 'true_positive' | 'false_positive'

/** Ends what is still good, and says of each report whether it named a key of ours. */
export async function endLeakedKeys(
  parts: LeakParts,
  reports: readonly LeakReport[],
  reporter: Reporter,
): Promise<Label[]> {
  // Junk is refused without a query.
  const digests = reports.map(({ token }) =>
    isWellFormedApiKey(token) ? digestSecret(token) : null,
  )
  const asked = digests.filter((digest) => digest !== null)
  if (asked.length === 0) return reports.map(() => 'false_positive')
  const reported = new Map<string, LeakReport>()
  for (const [index, digest] of digests.entries()) {
    const report = reports[index]
    if (digest && report) reported.set(digest.toString('hex'), report)
  }
  const known = await parts.db.transaction(async (tx) => {
    const keys = await lockLeaked(tx, asked)
    for (const key of keys) await endLeaked(parts, tx, { key, reported, reporter })
    return new Set(keys.flatMap((key) => [hex(key.token_digest), hex(key.previous_digest)]))
  })
  return digests.map((digest) =>
    digest !== null && known.has(hex(digest)) ? 'true_positive' : 'false_positive',
  )
}

async function endLeaked(
  parts: LeakParts,
  tx: Tx,
  found: { key: LeakedKey; reported: ReadonlyMap<string, LeakReport>; reporter: Reporter },
): Promise<void> {
  const { key, reported, reporter } = found
  const at = parts.clock.now()
  if (key.revoked_at !== null) return
  const current = reported.get(hex(key.token_digest))
  const previous = reported.get(hex(key.previous_digest))
  const is_over = key.previous_secret_until === null || key.previous_secret_until <= at
  const report = current ?? (is_over ? undefined : previous)
  if (!report) return
  const secret = current ? 'current' : 'previous'
  await endSecret(tx, key.id, { secret, at })
  await parts.feed.invalidate(tx, [`key:${key.id}`])
  await recordSecurityEvent(parts, tx, {
    account_id: key.account_id,
    kind: 'key_leaked',
    at,
    client: reporter.client,
    details: {
      key_id: key.id,
      name: key.name,
      prefix: key.prefix,
      secret,
      found_at: placeOf(report.url),
      source: report.source.slice(0, SOURCE_LENGTH_MAX),
      signed: reporter.is_signed,
    },
  })
}

function hex(digest: Buffer | null): string {
  return digest?.toString('hex') ?? ''
}

/** Where it was found, for the owner to look: nothing of it that could be a secret itself. */
function placeOf(url: string): string | null {
  const parsed = URL.parse(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return null
  const place = parsed.origin + parsed.pathname
  return place.replaceAll(/sk-svc-[0-9A-Za-z]+/g, 'sk-svc-…').slice(0, PLACE_LENGTH_MAX)
}

/** The body as GitHub sends it: a list of findings. */
export function readReports(text: string): LeakReport[] {
  const body = parseJson(text)
  if (!Array.isArray(body) || body.length > REPORTS_MAX) {
    throw new ApiError('bad_request', {
      message: `The body must be a JSON list of at most ${REPORTS_MAX} findings.`,
      hint: 'Like [{"token":"sk-svc-…","type":"svc_api_key","url":"https://…","source":"content"}].',
    })
  }
  return body.map((entry: unknown, index) => ({
    token: readText(entry, index, { name: 'token', max: TOKEN_LENGTH_MAX }),
    type: readText(entry, index, { name: 'type', max: TYPE_LENGTH_MAX, fallback: 'svc_api_key' }),
    url: readText(entry, index, { name: 'url', max: URL_LENGTH_MAX, fallback: '' }),
    source: readText(entry, index, { name: 'source', max: URL_LENGTH_MAX, fallback: '' }),
  }))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('bad_request', { message: 'The body is not JSON.' })
  }
}

function readText(
  entry: unknown,
  index: number,
  { name, max, fallback }: { name: string; max: number; fallback?: string },
): string {
  const fields = typeof entry === 'object' && entry !== null ? new Map(Object.entries(entry)) : null
  const value: unknown = fields?.get(name) ?? fallback
  if (fields && typeof value === 'string' && value.length <= max && !value.includes('\u0000')) {
    return value
  }
  throw new ApiError('bad_request', {
    message: `body[${index}].${name} must be text of at most ${max} characters.`,
    param: `[${index}].${name}`,
  })
}
