// Errors in Stripe's shape: an HTTP status, and under `error` a type, mostly a code, a sentence for
// people, and the parameter that is to blame.

import type { JsonObject } from '../json.ts'

export type ErrorDetails = {
  code?: string
  param?: string
  decline_code?: string
  charge?: string
  payment_intent?: unknown
  payment_method?: unknown
}

export type ErrorType = 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error'

export class StripeError extends Error {
  readonly status: number
  readonly type: ErrorType
  readonly details: ErrorDetails

  constructor(status: number, type: ErrorType, text: { message: string } & ErrorDetails) {
    const { message, ...details } = text
    super(message)
    this.status = status
    this.type = type
    this.details = details
  }

  toBody(request_id: string): JsonObject {
    const { code } = this.details
    return {
      error: {
        ...this.details,
        ...(code !== undefined && {
          doc_url: `https://stripe.com/docs/error-codes/${code.replaceAll('_', '-')}`,
        }),
        message: this.message,
        request_log_url: `https://dashboard.stripe.com/test/logs/${request_id}`,
        type: this.type,
      },
    }
  }
}

export function badRequest(message: string, details: ErrorDetails = {}): StripeError {
  return new StripeError(400, 'invalid_request_error', { message, ...details })
}

export function missing(noun: string, id: string, param: string): StripeError {
  return new StripeError(404, 'invalid_request_error', {
    message: `No such ${noun}: '${id}'`,
    code: 'resource_missing',
    param,
  })
}

/** An id in a parameter, unlike one in the address, is a bad request and no missing page. */
export function missingParam(noun: string, id: string, param: string): StripeError {
  return badRequest(`No such ${noun}: '${id}'`, { code: 'resource_missing', param })
}

export function noAccess(account: string): StripeError {
  return new StripeError(403, 'invalid_request_error', {
    message: `The provided key 'sk_test_***' does not have access to account '${account}' (or that account does not exist). Application access may have been revoked.`,
    code: 'account_invalid',
  })
}

export function sandboxFull(what: string, limit: number): StripeError {
  return new StripeError(500, 'api_error', {
    message: `The sandbox holds at most ${limit} ${what}. POST /_sandbox/stripe/reset empties it.`,
  })
}
