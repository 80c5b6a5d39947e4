// What is kept of a call that was charged: its body, its stream in few events, or what went wrong with it.

import { ApiError, type ApiErrorOptions, type ErrorCode } from '../../platform/errors.ts'
import type { ChatEvent } from '../dialects/chat-types.ts'
import { presentNumbers, type SvcNumbers } from '../dialects/dialect.ts'
import type { CallRow } from './store.ts'

/** Larger ones are not kept; the key stays taken. */
export const RESULT_MAX_BYTES = 1024 * 1024

export type KeptBody = {
  form: 'body'
  content_type: string
  body: Buffer
  /** For a format that tells them in headers. */
  svc: SvcNumbers | undefined
}

/** What a stream says beside its events. */
export type StreamFrame = {
  created: Date
  ended: Date
  /** Whether what the payer has set the limit of the answer. */
  credits_limit: boolean
}

export type KeptStream = StreamFrame & {
  form: 'stream'
  events: readonly ChatEvent[]
  /** The numbers of a whole answer, or what ended the others. */
  end: SvcNumbers | ApiError
}

export type KeptResult = KeptBody | KeptStream | { form: 'error'; error: ApiError }

type ToldNumbers = ReturnType<typeof presentNumbers>
type ToldFault = { code: ErrorCode } & Omit<ApiErrorOptions, 'cause' | 'detail'>

/** As it is stored beside the events or the bytes. */
export type ResultHead = {
  content_type?: string
  created?: string
  ended?: string
  credits_limit?: true
  svc?: ToldNumbers
  fault?: ToldFault
}

export type ResultColumns = Pick<CallRow, 'form' | 'head' | 'events' | 'body'>

export function toColumns(result: KeptResult): ResultColumns {
  const none = { events: null, body: null }
  switch (result.form) {
    case 'body': {
      const { form, content_type, svc, body } = result
      return { form, head: { content_type, ...tellEnd(svc) }, events: null, body }
    }
    case 'stream': {
      const { form, events, end } = result
      return {
        form,
        head: { ...tellFrame(result), ...tellEnd(end) },
        events: [...events],
        body: null,
      }
    }
    case 'error':
      return { ...none, form: 'error', head: tellEnd(result.error) }
  }
}

/** Undefined: it was too large to be kept. */
export function fromColumns({ form, head, events, body }: ResultColumns): KeptResult | undefined {
  const { content_type = 'application/octet-stream', svc, fault } = head ?? {}
  if (form === 'body' && body) {
    return { form, content_type, body, svc: svc && readNumbers(svc) }
  }
  const end = fault ? readFault(fault) : svc && readNumbers(svc)
  const frame = head && readFrame(head)
  if (form === 'stream' && events && frame && end) return { form, ...frame, events, end }
  return form === 'error' && fault ? { form, error: readFault(fault) } : undefined
}

function tellFrame({ created, ended, credits_limit }: StreamFrame): ResultHead {
  return {
    created: created.toISOString(),
    ended: ended.toISOString(),
    ...(credits_limit && { credits_limit }),
  }
}

function readFrame({ created, ended = created, credits_limit }: ResultHead) {
  if (created === undefined || ended === undefined) return undefined
  return {
    created: new Date(created),
    ended: new Date(ended),
    credits_limit: credits_limit === true,
  }
}

function tellEnd(end: SvcNumbers | ApiError | undefined): ResultHead {
  if (end === undefined) return {}
  return end instanceof ApiError ? { fault: tellFault(end) } : { svc: presentNumbers(end) }
}

function readNumbers(told: ToldNumbers): SvcNumbers {
  return {
    credits_used: BigInt(told.credits_used),
    balance_before: BigInt(told.balance_before),
    balance_after: BigInt(told.balance_after),
    billing_mode: told.billing_mode,
  }
}

function tellFault(error: ApiError): ToldFault {
  const { code, message, status, headers, hint, param, provider_code, details } = error
  return {
    code,
    message,
    status,
    headers,
    ...(hint !== undefined && { hint }),
    ...(param !== undefined && { param }),
    ...(provider_code !== undefined && { provider_code }),
    ...(details !== undefined && { details }),
  }
}

function readFault({ code, ...told }: ToldFault): ApiError {
  return new ApiError(code, told)
}
