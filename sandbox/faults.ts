// Which error a test prompt asks for. What that error looks like is each provider's own matter.

import type { Directives } from './directives.ts'

export const FAULTS = [
  '401',
  '404',
  '429',
  '500',
  'overloaded',
  'quota',
  'blocked',
  'too_long',
  'unverified',
] as const

export type Fault = (typeof FAULTS)[number]

/**
 * Without a stream there is no middle, so an error in the middle is an error from the start; and an
 * unverified organisation is only kept from streaming.
 */
export function findFault(directives: Directives, streamed: boolean): Fault | undefined {
  const possible = FAULTS.filter((name) => streamed || name !== 'unverified')
  const fault = possible.find((name) => directives[name] !== undefined)
  const midway = directives.error_mid_stream ?? directives.failed_mid_stream
  return fault ?? (!streamed && midway !== undefined ? '500' : undefined)
}
