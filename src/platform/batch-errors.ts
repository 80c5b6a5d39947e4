// What a caller is told whose item is not done.

import { ApiError } from './errors.ts'

/** The item was sent, or may have been; nobody knows what became of it. Sending it again finds out. */
export class GivenUp extends ApiError {
  constructor(queue: string) {
    super('service_unavailable', {
      message: 'The connection to the database was lost: the change may or may not have been made.',
      hint: 'Look before you repeat it; with an Idempotency-Key simply repeat it.',
      detail: `a ${queue} was given up; the outcome is unknown`,
      headers: { 'retry-after': '1' },
    })
  }
}

export function busy(detail: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', { detail, cause, headers: { 'retry-after': '1' } })
}

/** What the server said is for the log; it may quote the item. */
export function asApiError(error: unknown, detail: string): ApiError {
  return error instanceof ApiError ? error : busy(detail, error)
}
