// Ranges of IP addresses: read as people write them, kept in one spelling, and asked whether an address is in them.

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Range = ReturnType<typeof ipaddr.parseCIDR>

/** A range, or one address, as its network is printed: `203.0.113.7/24` is 203.0.113.0/24. Undefined: it is none. */
export function normaliseRange(text: string): string | undefined {
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  // Node's parser first: ipaddr.js takes `1.2.3` and octal numbers. A zone means something on one machine only.
  if (family === 0 || address.includes('%') || more.length > 0) return undefined
  const bits_max = family === 4 ? 32 : 128
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= bits_max)) return undefined
  const length = Number(bits ?? bits_max)
  const cidr = `${address}/${length}`
  if (family === 4) return `${ipaddr.IPv4.networkAddressFromCIDR(cidr).toString()}/${length}`
  const network = ipaddr.IPv6.networkAddressFromCIDR(cidr)
  // A caller by IPv4 is compared as that, so a range of mapped addresses would hold nobody.
  if (network.isIPv4MappedAddress()) return undefined
  return `${network.toRFC5952String()}/${length}`
}

export class AddressRanges {
  readonly #ranges: readonly Range[]

  /** Ranges as `normaliseRange` prints them. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((range) => ipaddr.parseCIDR(range))
  }

  /** What is no address is in none of them. */
  contains(ip: string): boolean {
    // Some proxies put the port behind the address.
    const bare = ip.replace(/^([\d.]+):\d+$/, '$1').replace(/^\[(.*)\](:\d+)?$/, '$1')
    if (isIP(bare) === 0) return false
    // An IPv4 address that is mapped into IPv6 becomes one again.
    const address = ipaddr.process(bare.replace(/%.*$/, ''))
    return this.#ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    )
  }
}
