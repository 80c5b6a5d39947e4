// Structured logs: one JSON line per request or job, secrets never.

import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/**
 * Anything we ever issue, and the credentials of our own upstreams, wherever it stands in a string. What a device
 * is known by has its length, too: `dev_payable` is an account of the ledger. The last is the code that a person types for
 * a device.
 */
const SECRET_PATTERN =
  /(sk-svc-|sess_|svc_token_|svc_refresh_|svc_secret_|svc_code_|svc_device_|svc_verify_|svc_reset_|svc_notme_|svc_leave_|svc_take_|svc_challenge_|whsec_|sk-ant-|sk-proj-|sk_live_|sk_test_|rk_live_|AIza)[A-Za-z0-9_+/=-]{4,}|(dev_)[A-Za-z0-9_-]{43}|\b[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}\b/g

/** What has no shape of its own is known by the name of its field. */
const SECRET_FIELD_PATTERN =
  /"((?:current_|new_)?password|authorization|cookie|user_code)":"(?:[^"\\]|\\.)*"/g
const SECRET_FIELD_WORDS = ['password', 'authorization', 'cookie', 'user_code']

/** Where each log writes to. */
const destinations = new WeakMap<Log, DestinationStream>()

const BUFFER_BYTES = 4096
const FLUSH_INTERVAL_MS = 200

/**
 * Every line but those of `logRequest` passes `redact` as text on its way out: a secret is taken out wherever
 * it stands. Watching named fields instead cost three times as much and saw only those.
 */
export function createLog(options: { level: string; destination?: DestinationStream }): Log {
  const destination = options.destination ?? standardOutput()
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: timestampField,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { streamWrite: redact },
    },
    destination,
  )
  destinations.set(log, destination)
  return log
}

export type RequestLine = {
  request_id: string
  method: string
  route: string
  status: number
  duration_ms: number
  ip: string
  principal: { account_id: string; key_id?: string } | null
}

/**
 * The one line of every request. Written by hand: through pino a JSON call took 2.3 % more CPU (bench/README.md), with
 * or without `redact`. All of it is of our own making, but for the address, which a proxy may have filled with anything.
 */
export function logRequest(log: Log, line: RequestLine): void {
  if (!log.isLevelEnabled('info')) return
  const { request_id, method, route, status, principal } = line
  const who = principal ? `,"account_id":"${principal.account_id}"` : ''
  const key = principal?.key_id === undefined ? '' : `,"key_id":"${principal.key_id}"`
  const duration_ms = Math.round(line.duration_ms * 100) / 100
  destinations
    .get(log)
    ?.write(
      `{"level":"info"${timestampField()},"request_id":"${request_id}","method":"${method}","route":"${route}","status":${status},"duration_ms":${duration_ms},"ip":${JSON.stringify(line.ip)}${who}${key},"msg":"request"}\n`,
    )
}

export function redact(text: string): string {
  const shown = text.replace(SECRET_PATTERN, '$1$2[redacted]')
  // Almost no line has such a field, and looking for the words is cheaper than the pattern.
  if (!SECRET_FIELD_WORDS.some((word) => shown.includes(word))) return shown
  return shown.replace(SECRET_FIELD_PATTERN, '"$1":"[redacted]"')
}

// A write for each line would cost more than all else about a request. A person at a terminal sees every
// line at once; the rest is flushed several times a second and at exit.
function standardOutput(): DestinationStream {
  const minLength = process.stdout.isTTY ? 0 : BUFFER_BYTES
  const destination = pino.destination({
    fd: 1,
    sync: true,
    minLength,
    periodicFlush: FLUSH_INTERVAL_MS,
  })
  process.once('exit', () => destination.flushSync())
  return destination
}

let second = 0
let second_text = ''

/** ISO 8601; the part down to the second is made once a second. */
function timestampField(): string {
  const now_ms = Date.now()
  const now_s = Math.floor(now_ms / 1000)
  if (now_s !== second) {
    second = now_s
    second_text = new Date(now_s * 1000).toISOString().slice(0, 19)
  }
  return `,"time":"${second_text}.${String(now_ms % 1000).padStart(3, '0')}Z"`
}

function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error)
  const extra = error as Error & { code?: unknown; detail?: unknown }
  return {
    type: error.name,
    message: error.message,
    ...(typeof extra.code === 'string' && { code: extra.code }),
    ...(typeof extra.detail === 'string' && { detail: withoutRow(extra.detail) }),
    stack: error.stack,
    ...(error.cause !== undefined && depth < 3 && { cause: describeError(error.cause, depth + 1) }),
  }
}

/** PostgreSQL quotes the whole row that broke a constraint, password hash and all. */
function withoutRow(detail: string): string {
  return detail.replace(/^(Failing row contains) .*/s, '$1 [redacted]')
}
