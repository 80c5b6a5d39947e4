// Whose requests are counted together: the addresses that one customer of a network can call from.

import { isIPv4, isIPv6 } from 'node:net'

/**
 * IPv6 callers own a whole /64 and could otherwise count as 2^64 people; an IPv4 address is the same person in each of its
 * spellings.
 */
export function addressBucket(ip: string): string {
  if (isIPv4(ip)) return ip
  const groups = readGroups(ip)
  if (!groups) return UNKNOWN
  return groups.length === 4 ? groups.join('.') : networkOf(groups, 64)
}

/**
 * The networks around an address, from a site to a provider's region: of IPv6 the /56 and the /48, of IPv4 the /24 and the
 * /16.
 */
export function widerBuckets(ip: string): { site: string; region: string } {
  const groups = readGroups(ip)
  if (!groups) return { site: UNKNOWN, region: UNKNOWN }
  if (groups.length === 4) {
    const [a, b, c] = groups
    return { site: `${a}.${b}.${c}.0/24`, region: `${a}.${b}.0.0/16` }
  }
  return { site: networkOf(groups, 56), region: networkOf(groups, 48) }
}

const UNKNOWN = 'unknown'

function networkOf(groups: readonly number[], bits: 64 | 56 | 48): string {
  const kept = groups.slice(0, 4).map((group, index) => {
    const bits_kept = Math.min(16, Math.max(0, bits - 16 * index))
    return group & (0xffff << (16 - bits_kept))
  })
  return `${kept.map((group) => group.toString(16)).join(':')}::/${bits}`
}

/** Four numbers of an IPv4 address, eight of an IPv6 address, undefined for what is neither. */
function readGroups(ip: string): number[] | undefined {
  // Some proxies put the port behind the address.
  const address = ip.replace(/^([\d.]+):\d+$/, '$1').replace(/^\[(.*)\](:\d+)?$/, '$1')
  if (isIPv4(address)) return address.split('.').map(Number)
  if (!isIPv6(address)) return undefined
  const groups = ipv6Groups(address)
  const [high = 0, low = 0] = groups.slice(6)
  const is_mapped = groups.slice(0, 6).join() === '0,0,0,0,0,65535'
  return is_mapped ? [high >> 8, high & 255, low >> 8, low & 255] : groups
}

/** The eight numbers of a valid address. */
function ipv6Groups(address: string): number[] {
  const bare = address.replace(/%.*$/, '').replace(/\d+\.\d+\.\d+\.\d+$/, toTwoGroups)
  const [left = [], right = []] = bare
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function toTwoGroups(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}
