// A payout batch over thousands of developers must wait for the product, not for the sandbox.

import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { after, before, test } from 'node:test'
import { listOf } from '../json.ts'
import { KEY, type Platform, startPlatform } from './test-platform.ts'

const COUNT = process.env['SVC_LONG'] === '1' ? 10_000 : 1_000
const AT_ONCE = 16
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
let platform: Platform

before(async () => {
  platform = await startPlatform()
})
after(async () => {
  agent.destroy()
  await platform.close()
})

function send(method: string, path: string, body: string, key = ''): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = {
    authorization: `Bearer ${KEY}`,
    ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(key !== '' && { 'idempotency-key': key }),
  }
  const options = { agent, method, host: '127.0.0.1', port: platform.sandbox.port, path, headers }
  const sent = request(options, (response) => {
    response.resume()
    response.on('end', () => resolve(response.statusCode ?? 0))
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

/** Runs the work for every number below the count, a few at a time; answers milliseconds for each. */
async function measure(count: number, work: (at: number) => Promise<number>): Promise<number> {
  let next = 0
  const started = performance.now()
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      const at = next
      next += 1
      assert.equal(await work(at), 200)
    }
  })
  await Promise.all(lanes)
  return (performance.now() - started) / count
}

test(`${COUNT} accounts are made and ${COUNT} transfers paid, looked up and replayed`, async (context) => {
  const account = 'type=express&capabilities[transfers][requested]=true'
  const accounts_ms = await measure(COUNT, () => send('POST', '/v1/accounts', account))
  const seeded = await platform.control('POST', '/seed', { accounts: COUNT })
  const ids = listOf(seeded['accounts']).map(String)
  assert.equal(ids.length, COUNT)
  const pay = (at: number) => {
    const params = `amount=1000&currency=usd&destination=${ids[at]}&transfer_group=po_${at}`
    return send('POST', '/v1/transfers', `${params}&metadata[payout_id]=po_${at}`, `payout_${at}`)
  }
  const transfers_ms = await measure(COUNT, pay)
  const replays_ms = await measure(COUNT, pay)
  const lookups_ms = await measure(COUNT, (at) => {
    return send('GET', `/v1/transfers?transfer_group=po_${at}&destination=${ids[at]}`, '')
  })
  const figures = { accounts_ms, transfers_ms, replays_ms, lookups_ms }
  for (const [name, ms] of Object.entries(figures)) context.diagnostic(`${name} ${ms.toFixed(3)}`)
  const summary = await platform.control('GET', '')
  assert.equal(summary['transfers'], COUNT)
  assert.equal(summary['duplicates'], 0)
  assert.equal(summary['transferred_cents'], COUNT * 1_000)
})
