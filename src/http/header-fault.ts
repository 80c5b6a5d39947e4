// Headers that may come once only. Node keeps the first of two and says nothing, so two readers of one request, a proxy and
// we, could see two different ones.

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'

const ONE_HOST = 'A request has exactly one Host header.'
const ONE_CREDENTIAL = 'The request has two Authorization or two X-API-Key headers.'

/** Undefined if all is well. HTTP/1.0 knows no Host; everyone else sends exactly one. */
export function headerFault({ raw }: FastifyRequest): ApiError | undefined {
  const { rawHeaders } = raw
  let [hosts, authorizations, keys] = [0, 0, 0]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    // The length first: it is cheaper than a name in small letters, and tells nearly all apart.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations++
    else if (name.length === 9 && name.toLowerCase() === 'x-api-key') keys++
  }
  if (hosts !== 1 && (hosts > 1 || raw.httpVersion !== '1.0')) {
    return new ApiError('bad_request', { message: ONE_HOST, headers: { connection: 'close' } })
  }
  if (authorizations < 2 && keys < 2) return undefined
  return new ApiError('bad_request', { message: ONE_CREDENTIAL, hint: 'Send one credential.' })
}
