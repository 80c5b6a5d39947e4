// How webhooks and deliveries are called outside: a prefix, and the digits of their id.

import { ApiError } from '../platform/errors.ts'

const PATTERN = /^(wh|dlv)_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

export function webhookName(id: string): string {
  return `wh_${id.replaceAll('-', '')}`
}

export function deliveryName(id: string): string {
  return `dlv_${id.replaceAll('-', '')}`
}

/** The id in a name. What is no name of ours is no webhook, and no delivery, of anybody. */
export function idOf(kind: 'wh' | 'dlv', name: string): string {
  const [, prefix, ...parts] = PATTERN.exec(name) ?? []
  if (prefix === kind) return parts.join('-')
  const what = kind === 'wh' ? 'You have no such webhook.' : 'This webhook has no such delivery.'
  throw new ApiError('not_found', { message: what })
}
