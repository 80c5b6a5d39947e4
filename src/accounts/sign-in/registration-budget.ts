// How many accounts may be made a minute from wider networks than one address, and by everybody together: somebody with a
// whole network would otherwise collect the welcome credits of all its addresses.

import { widerBuckets } from '../../http/address-bucket.ts'
import type { RateLimits } from '../../http/rate-limit.ts'

/** Narrow ones first, so that a network which has had its share uses up nothing of the others'. */
export async function requireRegistrationBudget(limits: RateLimits, ip: string): Promise<void> {
  const { site, region } = widerBuckets(ip)
  await limits.require('register_site', site)
  await limits.require('register_region', region)
  await limits.require('register_service', 'all')
}
