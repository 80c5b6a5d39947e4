// Where requests that somebody else asked for may go: public addresses, and this machine itself where that is allowed.
// `judgeUrl` answers a person who types an address. What protects us is `guardedConnector`: names lead elsewhere
// from one moment to the next, so the address that is dialled is judged while it is dialled (docs/security.md).

import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'
import { noteCertificate, withExpiry } from './certificate-expiry.ts'
import { type NameLookup, resolverLookup } from './name-lookup.ts'

const URL_LENGTH_MAX = 2048
const NAME_LENGTH_MAX = 253

/** Public by number, and yet inside: services that a cloud shows to its own machines only. */
const DENIED_RANGES = [
  // Azure: the host's agent, with the machine's secrets.
  '168.63.129.16/32',
  // IBM Cloud: the infrastructure's services, and service endpoints.
  '161.26.0.0/16',
  '166.8.0.0/14',
].map((range) => ipaddr.IPv4.parseCIDR(range))

/** All of IPv6 that is assigned to the public. ipaddr.js calls `::7f00:1`, which is 127.0.0.1, unicast. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** This machine, in the only two spellings that are taken for it. */
const LOOPBACK_HOSTS = ['localhost', '127.0.0.1']
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1']
const LOCALHOST = LOOPBACK_ADDRESSES.map((address) => ({ address, family: isIP(address) }))

/** Names that mean something only inside a network (RFC 6761, 6762, 8375, and what ICANN keeps for that). */
const INSIDE_NAMES = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/
const NAME_PATTERN = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/

/** Zero, and what the Fetch Standard calls bad ports: mail, shells, printers and others that HTTP could be fed to. */
const ODD_PORTS = new Set(
  `0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135
  137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719
  1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080`.split(
    /\s+/,
  ),
)

export type UrlRules = {
  /** `localhost` and `127.0.0.1`, written so. */
  allow_loopback: boolean
}

export type ConnectRules = UrlRules & {
  /** For looking up the name, connecting and the TLS handshake together. */
  connect_ms: number
  lookup?: NameLookup
}

export const BLOCKED_ADDRESS = 'SVC_BLOCKED_ADDRESS'

/** Its message names no address: what a name means inside our network is nobody's business. */
export class BlockedAddress extends Error {
  readonly code = BLOCKED_ADDRESS

  constructor() {
    super('blocked address')
    this.name = 'BlockedAddress'
  }
}

/** `refused` is a sentence for whoever wrote the address. Dial `url.href`, not the text. */
export function judgeUrl(text: string, rules: UrlRules): { url: URL } | { refused: string } {
  if (text.length > URL_LENGTH_MAX) {
    return { refused: `The address has more than ${URL_LENGTH_MAX} characters.` }
  }
  // The parser drops tabs and line breaks, and takes a backslash for a slash.
  if (/[\s\\\p{C}]/u.test(text)) {
    return { refused: 'The address contains a space, a backslash or an invisible character.' }
  }
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(text) ?? []
  const url = URL.parse(text)
  if (authority === undefined || url === null) return { refused: describeForm(rules) }
  if (authority.includes('@')) {
    return { refused: 'The address must not contain a user name or password.' }
  }
  if (text.includes('#')) return { refused: 'The address must not have a fragment (#…).' }
  if (ODD_PORTS.has(url.port)) return { refused: `Port ${url.port} is not allowed.` }
  const refused = judgeHost(url, authority.replace(/:\d*$/, ''), rules)
  return refused === undefined ? { url } : { refused }
}

/** What the parser makes of a host must be what was written: an address in disguise is meant to deceive. */
function judgeHost(url: URL, written: string, rules: UrlRules): string | undefined {
  const host = withoutBrackets(url.hostname)
  if (LOOPBACK_HOSTS.includes(host)) {
    return rules.allow_loopback && written === host ? undefined : `${host} is not a public address.`
  }
  if (url.protocol !== 'https:') return describeForm(rules)
  if (isIP(host) !== 0) {
    if (!isPublicAddress(host)) return `${host} is not a public address.`
    return written === url.hostname ? undefined : `Write the host as ${url.hostname}.`
  }
  if (INSIDE_NAMES.test(host.replace(/\.$/, ''))) {
    return `${host} is a name for use inside a network: it is not public.`
  }
  return host.length <= NAME_LENGTH_MAX && NAME_PATTERN.test(host)
    ? undefined
    : `${JSON.stringify(host.slice(0, NAME_LENGTH_MAX))} is not the full name of a public host, such as hooks.example.com.`
}

function describeForm({ allow_loopback }: UrlRules): string {
  return allow_loopback
    ? 'The address must begin with https://, or with http://localhost or http://127.0.0.1.'
    : 'The address must begin with https://.'
}

export function isPublicAddress(address: string): boolean {
  // Node's parser first: ipaddr.js takes `1.2.3` and octal numbers. A zone, as in fe80::1%eth0, is never public.
  if (isIP(address) === 0 || address.includes('%')) return false
  // An IPv4 address that is mapped into IPv6 becomes one again.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv4
    ? !DENIED_RANGES.some((range) => parsed.match(range))
    : parsed.match(PUBLIC_IPV6)
}

/**
 * For undici's Agent. It judges a literal, every address that a name leads to (one that is bad blocks all), and
 * the address that the socket really has. The name stays, for SNI and the certificate. undici does not call `lookup`
 * for literals, so a guard in `lookup` alone lets them through.
 */
export function guardedConnector(rules: ConnectRules): buildConnector.connector {
  const connect = buildConnector({
    timeout: rules.connect_ms,
    allowH2: false,
    lookup: guardLookup(rules.lookup ?? resolverLookup(), rules),
  })
  return (options, callback) => {
    const judge = judgeFor(options.hostname, rules)
    const is_literal = isIP(options.hostname) !== 0
    const is_plain = options.protocol !== 'https:' && !LOOPBACK_HOSTS.includes(options.hostname)
    if (is_plain || (is_literal && !judge(options.hostname))) {
      process.nextTick(callback, new BlockedAddress(), null)
      return
    }
    const dialled: unknown = connect(options, (error, socket) => {
      if (error) return callback(withExpiry(error, dialled), null)
      if (judge(socket.remoteAddress)) return callback(null, socket)
      socket.on('error', () => {}).destroy()
      callback(new BlockedAddress(), null)
    })
    noteCertificate(dialled)
  }
}

/** Which addresses a host may have. `localhost` is this machine or nothing. */
function judgeFor(hostname: string, rules: UrlRules): (address: string | undefined) => boolean {
  const allowed = LOOPBACK_HOSTS.includes(hostname)
    ? (address: string) => rules.allow_loopback && LOOPBACK_ADDRESSES.includes(address)
    : isPublicAddress
  return (address) => address !== undefined && allowed(address)
}

function guardLookup(lookup: NameLookup, rules: UrlRules): LookupFunction {
  return (hostname, options, callback) => {
    const answer = (error: NodeJS.ErrnoException | null, found: readonly { address: string }[]) => {
      if (error) return callback(error, [])
      if (!found.every(({ address }) => judge(address))) return callback(new BlockedAddress(), [])
      if (options.all) return callback(null, [...found].map(withFamily))
      callback(null, found[0]?.address ?? '', isIP(found[0]?.address ?? ''))
    }
    const judge = judgeFor(hostname, rules)
    // Nobody is asked for it: a resolver could answer anything.
    if (hostname === 'localhost') answer(null, LOCALHOST)
    else lookup(hostname, answer)
  }
}

function withFamily({ address }: { address: string }) {
  return { address, family: isIP(address) }
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
