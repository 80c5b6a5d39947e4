// Structured logs: one JSON line per request or job, secrets never.

import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Anything we ever issue, and the credentials of our own upstreams, wherever it stands in a string. */
const SECRET_PATTERN =
  /\b(sk-svc-|sess_|svc_token_|svc_refresh_|svc_secret_|svc_code_|svc_verify_|svc_reset_|whsec_|sk-ant-|sk-proj-|sk_live_|sk_test_|rk_live_|AIza)[A-Za-z0-9_-]{4,}/g

const REDACTED_PATHS = [
  'password',
  'current_password',
  'new_password',
  'authorization',
  'cookie',
  '*.password',
  '*.authorization',
  '*.cookie',
]

export function createLog(options: { level: string; destination?: DestinationStream }): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
      serializers: { err: (error: unknown) => describeError(error) },
    },
    options.destination ?? pino.destination({ fd: 1, sync: false, minLength: 0 }),
  )
}

export function redact(text: string): string {
  return text.replace(SECRET_PATTERN, '$1[redacted]')
}

function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return redact(String(error))
  const extra = error as Error & { code?: unknown; detail?: unknown }
  return {
    type: error.name,
    message: redact(error.message),
    ...(typeof extra.code === 'string' && { code: extra.code }),
    ...(typeof extra.detail === 'string' && { detail: redact(extra.detail) }),
    stack: redact(error.stack ?? ''),
    ...(error.cause !== undefined && depth < 3 && { cause: describeError(error.cause, depth + 1) }),
  }
}
