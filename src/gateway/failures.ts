// What becomes of calls that cost nothing: each is noted for its payer's record.

import { ApiError } from '../platform/errors.ts'
import type { FailedCall } from '../usage/failed-calls.ts'
import { type ChatCall, type ChatParts, type Order, placeOrder } from './order.ts'
import { type Plan, planCall } from './plan.ts'

/** Nobody was answered, so there is no code. */
const CLIENT_LEFT = 499

/** A call as far as it is known before there is a plan for it. */
export type AskedCall = Omit<ChatCall, 'plan' | 'running'> & Partial<Pick<ChatCall, 'plan'>>

export function planOrNote(parts: ChatParts, call: AskedCall): Plan {
  try {
    return planCall(parts, call)
  } catch (error) {
    throw noteFailure(parts, call, { error, outcome: 'refused' })
  }
}

export async function placeOrNote(parts: ChatParts, call: ChatCall): Promise<Order> {
  try {
    return await placeOrder(parts, call)
  } catch (error) {
    throw noteFailure(parts, call, { error, outcome: 'refused' })
  }
}

/** What the record of a call says, whatever kind of call it is. */
export type NotedCall = Pick<
  ChatCall,
  'id' | 'began_at' | 'endpoint' | 'payer' | 'key' | 'request_id'
> & {
  request: { model: string; stream: boolean }
  plan?: { model: { upstream_id: string } }
}

/** Answers the error, to be thrown on. */
export function noteFailure(
  { failed_calls }: Pick<ChatParts, 'failed_calls'>,
  call: NotedCall,
  { error, outcome }: { error: unknown; outcome: FailedCall['outcome'] },
): unknown {
  const { payer, request } = call
  const fault = error instanceof ApiError ? error : new ApiError('internal_error')
  failed_calls.note({
    id: call.id,
    wallet_id: payer.account_id,
    developer_id: payer.developer_id,
    key_id: call.key?.key_id ?? null,
    client_id: payer.client_id,
    external_user_id: payer.external_user_id,
    billing_mode: payer.billing_mode,
    endpoint: call.endpoint,
    model: request.model,
    upstream_model: call.plan?.model.upstream_id ?? null,
    stream: request.stream,
    request_id: call.request_id.slice('req_'.length),
    outcome,
    error_code: fault.status === CLIENT_LEFT ? null : fault.code,
    http_status: fault.status,
    total_ms: Math.round(performance.now() - call.began_at),
  })
  return error
}
