// Whose limit a request counts against when proxies stand in between.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../support/database.ts'
import { call, startServer } from '../support/service.ts'

const settings = { DATABASE_URL: await createDatabase(), RATE_LIMIT_PER_MINUTE: '100' }
const [open, proxied] = await Promise.all([
  startServer(settings),
  startServer({ ...settings, TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8' }),
])

/** What the caller has left after one more request. */
async function remaining(url: string, forwarded_for: string): Promise<number> {
  const headers = { 'x-forwarded-for': forwarded_for }
  const reply = await call(url, '/no/such/page', { headers })
  assert.equal(reply.status, 404)
  return Number(reply.headers['x-ratelimit-remaining'])
}

test('without TRUST_PROXY a caller cannot choose its address: X-Forwarded-For is ignored', async () => {
  assert.equal(await remaining(open.url, '203.0.113.1'), 99)
  assert.equal(await remaining(open.url, '203.0.113.2'), 98)
  assert.equal(await remaining(open.url, '127.0.0.1, 203.0.113.3'), 97)
})

test('behind trusted proxies the right-most hop that is not one of them is counted', async () => {
  assert.equal(await remaining(proxied.url, '198.51.100.7'), 99)
  assert.equal(await remaining(proxied.url, '203.0.113.1, 198.51.100.7'), 98)
  assert.equal(await remaining(proxied.url, '203.0.113.2, 198.51.100.7, 10.1.2.3'), 97)
  assert.equal(await remaining(proxied.url, '198.51.100.7, 203.0.113.2'), 99)
})

test('callers of one IPv6 network count as one', async () => {
  assert.equal(await remaining(proxied.url, '2001:db8:1:2::1'), 99)
  assert.equal(await remaining(proxied.url, '2001:db8:1:2:ffff::9'), 98)
  assert.equal(await remaining(proxied.url, '2001:db8:1:3::1'), 99)
})

test('junk in the header is no fault of ours, and gives no new allowance for each piece of junk', async () => {
  const first = await remaining(proxied.url, 'junk:one')
  const second = await remaining(proxied.url, 'junk:two')
  assert.equal(second, first - 1)
})
