// What an attempt came to: one word of a closed list, and one sentence that tells a developer what to do about it.

import { STATUS_CODES } from 'node:http'
import { ExpiredCertificate } from '../platform/certificate-expiry.ts'
import { HttpFailure } from '../platform/http-call.ts'
import { NameNotFound } from '../platform/name-lookup.ts'
import { BLOCKED_ADDRESS } from '../platform/public-address.ts'

export const OUTCOMES = [
  'delivered',
  /** A status that is neither 2xx, 3xx nor 410. */
  'http_error',
  'redirect',
  /** 410: the receiver wants no more. */
  'gone',
  'timeout',
  'connect_timeout',
  'dns',
  'refused',
  'unreachable',
  'reset',
  'tls',
  'blocked',
  'too_many_headers',
  'invalid_answer',
  /** It is not the receiver's fault: we gave it up, or had no connection left. */
  'not_sent',
  'failed',
] as const

export type Outcome = (typeof OUTCOMES)[number]

export type Verdict = { outcome: Outcome; reason: string }

/** Where it went: the host as it is written, the host without its port, the port. */
export type Place = { host: string; hostname: string; port: string }

/** What stands in the place of an answer that never came. */
export const SHORT_REASONS: Partial<Record<Outcome, string>> = {
  timeout: 'no answer in time',
  connect_timeout: 'no connection in time',
  dns: 'name not found',
  refused: 'connection refused',
  unreachable: 'host unreachable',
  reset: 'connection closed',
  tls: 'TLS handshake failed',
  blocked: 'blocked address',
  too_many_headers: 'too many headers',
  invalid_answer: 'not an HTTP answer',
  not_sent: 'not sent',
}

const GONE = 410
const LOCATION_LENGTH_MAX = 200

export function describeStatus(
  { host }: Place,
  status: number,
  location: string | undefined,
): Verdict & { response_status: number } {
  const said = `${host} answered ${[status, STATUS_CODES[status]].filter(Boolean).join(' ')}`
  const give = (outcome: Outcome, reason: string) => ({ outcome, reason, response_status: status })
  if (status >= 200 && status < 300) return give('delivered', `${said}.`)
  if (status >= 300 && status < 400) {
    const target = describeTarget(location)
    return give('redirect', `${said}${target}. Redirects are not followed: use the final address.`)
  }
  if (status === GONE) return give('gone', `${said}: no further attempts are made.`)
  return give('http_error', `${said}; any status from 200 to 299 counts as delivered.`)
}

/** Without its query, which may hold a secret. */
function describeTarget(location: string | undefined): string {
  const target = URL.parse(location ?? '')
  if (!target || !/^https?:$/.test(target.protocol)) return ''
  return ` and points to ${`${target.origin}${target.pathname}`.slice(0, LOCATION_LENGTH_MAX)}`
}

/** From the code of the cause alone; messages of others may quote what was sent. */
export function describeFailure(
  error: unknown,
  place: Place,
  limits: { connect_ms: number; total_ms: number },
): Verdict {
  if (!(error instanceof HttpFailure)) {
    return { outcome: 'failed', reason: `The request to ${place.host} could not be made.` }
  }
  if (error.kind === 'aborted' || error.kind === 'busy') {
    return { outcome: 'not_sent', reason: 'Svc gave the attempt up before there was an answer.' }
  }
  const code = codeOf(error.cause)
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    const reason = `${place.host} did not accept a connection within ${limits.connect_ms / 1000} s.`
    return { outcome: 'connect_timeout', reason }
  }
  if (error.kind === 'timeout') {
    const reason = `${place.host} did not answer within ${limits.total_ms / 1000} s.`
    return { outcome: 'timeout', reason }
  }
  if (error.cause instanceof NameNotFound) return describeLookup(error.cause, place)
  return describeCode(code, place) ?? describeTls(code, place, error.cause) ?? unknown(code, place)
}

function describeLookup({ is_silence }: NameNotFound, { hostname }: Place): Verdict {
  const reason = is_silence
    ? `The name servers of ${hostname} did not answer.`
    : `The name ${hostname} was not found in the DNS.`
  return { outcome: 'dns', reason }
}

function describeCode(code: string, { host, hostname, port }: Place): Verdict | undefined {
  switch (code) {
    case BLOCKED_ADDRESS:
      return {
        outcome: 'blocked',
        reason: `${hostname} leads to an address that is not public (private, loopback, link-local or reserved).`,
      }
    case 'ECONNREFUSED':
      return {
        outcome: 'refused',
        reason: `Nothing listens at port ${port} of ${hostname} (connection refused).`,
      }
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return { outcome: 'unreachable', reason: `There is no route to ${hostname}.` }
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return { outcome: 'reset', reason: `${host} closed the connection before it answered.` }
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'HPE_HEADER_OVERFLOW':
      return {
        outcome: 'too_many_headers',
        reason: `The headers of ${host}'s answer have more than 16 KiB.`,
      }
    default:
      return code.startsWith('HPE_') || code === 'HTTPParserError'
        ? { outcome: 'invalid_answer', reason: `What ${host} answered is not HTTP.` }
        : undefined
  }
}

function describeTls(code: string, place: Place, cause: unknown): Verdict | undefined {
  const says = (what: string): Verdict => ({
    outcome: 'tls',
    reason: `The TLS certificate of ${place.hostname} ${what}.`,
  })
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return says(
        cause instanceof ExpiredCertificate
          ? `expired on ${cause.expired_at.toISOString().slice(0, 10)}`
          : 'has expired',
      )
    case 'CERT_NOT_YET_VALID':
      return says('is not valid yet')
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return says('is for another name')
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return says('is self-signed')
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return says(
        'was issued by nobody we know: send the intermediate certificates too, or use a public authority',
      )
    case 'CERT_REVOKED':
      return says('was revoked')
    default:
      if (!/^(EPROTO$|ERR_SSL_|ERR_TLS_|CERT_|UNABLE_TO_|HOSTNAME_)/.test(code)) return undefined
      return {
        outcome: 'tls',
        reason: `No TLS connection could be made to port ${place.port} of ${place.hostname} (${code}).`,
      }
  }
}

function unknown(code: string, { host }: Place): Verdict {
  return { outcome: 'failed', reason: `The connection to ${host} failed (${code}).` }
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
  return /^\w{1,60}$/.test(code) ? code : 'unknown'
}
