// The one place where SQL errors get a meaning: what the caller is told, and whether the session may be used again.

import { DatabaseError } from 'pg'
import { ApiError } from './errors.ts'

/** The constraint a failed statement ran into, if that is why it failed. */
export function violatedConstraint(error: unknown): string | undefined {
  const cause = error instanceof ApiError ? error.cause : error
  if (!(cause instanceof DatabaseError) || !cause.code?.startsWith('23')) return undefined
  return cause.constraint
}

/** The statement failed by its data (22) or a constraint (23): it fails again however often it is repeated. */
export function isRefused(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : error
  return cause instanceof DatabaseError && /^2[23]/.test(cause.code ?? '')
}

/** What the caller of a statement is told. */
export function translate(error: unknown): unknown {
  if (error instanceof StandbyWaitCancelled)
    return unknownOutcome('The change was not confirmed by the standby', error)
  if (isConnectionError(error))
    return unknownOutcome('The connection to the database was lost', error)
  // Its transaction is rolled back: nothing was done.
  if (isUselessSession(error)) return unavailable(error)
  if (!(error instanceof DatabaseError)) return error
  switch (error.code ?? '') {
    // Text PostgreSQL cannot hold: NUL, or half a surrogate pair. Schemas refuse it first; this is the net.
    case '22021':
    case '22P05':
    case '22P02':
      return new ApiError('bad_request', {
        message: 'The request holds characters that cannot be stored.',
        cause: error,
      })
    // Lock wait and statement time-outs, and the two the server asks us to try again.
    case '55P03':
    case '57014':
    case '40001':
    case '40P01':
      return unavailable(error)
    default:
      return error
  }
}

export function unavailable(cause: unknown): ApiError {
  return new ApiError('service_unavailable', { cause, headers: { 'retry-after': '1' } })
}

/** A commit may have arrived before the connection broke: nobody here can know. */
function unknownOutcome(what: string, cause: unknown): ApiError {
  return new ApiError('service_unavailable', {
    message: `${what}: the change may or may not have been made.`,
    hint: 'Look before you repeat it; with an Idempotency-Key simply repeat it.',
    cause,
    headers: { 'retry-after': '1' },
  })
}

/** The commit was answered, but nobody knows whether it is in a second place. */
export class StandbyWaitCancelled extends Error {}

/** The session that answered so must not be used again. */
export function endsSession(error: unknown): boolean {
  return isConnectionError(error) || isUselessSession(error)
}

/**
 * The server lives and answers, but this session cannot do its work any more: it is read-only (25006), as on a
 * primary that has become a standby, or its prepared statements are gone (26000) or no longer fit the tables (0A000).
 */
function isUselessSession(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  if (error.code === '0A000') return error.routine === 'RevalidateCachedQuery'
  return error.code === '25006' || error.code === '26000'
}

function isConnectionError(error: unknown): boolean {
  if (error instanceof ApiError) return false
  if (error instanceof DatabaseError) {
    // 25P03, 25P04: the server ended a session whose transaction was forgotten or took too long.
    return /^(08|57P0|53300|25P03|25P04)/.test(error.code ?? '')
  }
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)/.test(code))
    return true
  return /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/.test(
    error.message,
  )
}
