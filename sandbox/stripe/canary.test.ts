// A stand-in that never catches anybody proves nothing. Here one payout client is right and others are
// wrong in ways that have cost real money; the control API's counts must tell them apart.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import type { Stripe } from 'stripe'
import { listOf } from '../json.ts'
import { type Platform, seedAccount, startPlatform } from './test-platform.ts'

let platform: Platform

before(async () => {
  platform = await startPlatform()
})
beforeEach(async () => {
  await platform.control('POST', '/reset', {})
})
after(async () => {
  await platform.close()
})

const FAULTS = ['timeout', 'cut', 'status', 'garbage', 'reset'] as const
const ATTEMPTS = 6
type Payout = { id: string; destination: string; amount: number }
type Client = (stripe: Stripe, payout: Payout, attempt: number) => Promise<boolean>

function paramsOf({ id, destination, amount }: Payout): Stripe.TransferCreateParams {
  const metadata = { payout_id: id }
  return { amount, currency: 'usd', destination, transfer_group: id, metadata }
}

/** One key for one payout, whatever happens; and before a key can have been pruned, a look. */
const correct: Client = async (stripe, payout) => {
  const known = await stripe.transfers.list({
    transfer_group: payout.id,
    destination: payout.destination,
  })
  if (known.data.length > 0) return true
  await stripe.transfers.create(paramsOf(payout), { idempotencyKey: `payout_${payout.id}` })
  return true
}

const BROKEN: Readonly<Record<string, Client>> = {
  'mints a new key after a timeout': async (stripe, payout) => {
    await stripe.transfers.create(paramsOf(payout), { idempotencyKey: randomUUID() })
    return true
  },
  'puts the number of the attempt into the key': async (stripe, payout, attempt) => {
    const idempotencyKey = `payout_${payout.id}_${attempt}`
    await stripe.transfers.create(paramsOf(payout), { idempotencyKey })
    return true
  },
  'trusts the key for longer than a day': async (stripe, payout) => {
    await stripe.transfers.create(paramsOf(payout), { idempotencyKey: `payout_${payout.id}` })
    return true
  },
}

/** Every payout meets another fault, all of them after the money has gone, and a day passes. */
async function runPayouts(client: Client): Promise<number> {
  for (const [at, fault] of FAULTS.entries()) {
    const payout = { id: `po_${at}`, destination: await seedAccount(platform), amount: 100 + at }
    await platform.control('POST', '/faults', {
      method: 'POST',
      path: '/v1/transfers',
      when: 'after',
      fault,
      times: 2,
    })
    const stripe = platform.client({ timeout: fault === 'timeout' ? 500 : 5_000 })
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const paid = await client(stripe, payout, attempt).catch(() => false)
      if (paid) break
      await platform.control('POST', '/clock', { advance_s: 25 * 3_600 })
    }
    await platform.control('DELETE', '/faults')
  }
  const { duplicates } = await platform.control('GET', '/duplicates')
  return listOf(duplicates).length
}

test('a client that keeps its key and looks before it pays again never pays twice', async () => {
  assert.equal(await runPayouts(correct), 0)
  const { transfers, transferred_cents } = await platform.control('GET', '')
  assert.equal(transfers, FAULTS.length)
  assert.equal(transferred_cents, 510)
  const { keys } = await platform.control('GET', '/keys')
  assert.ok(listOf(keys).every((record) => Object(record).succeeded === 1))
})

for (const [mistake, client] of Object.entries(BROKEN)) {
  test(`a client that ${mistake} is caught`, async () => {
    assert.ok((await runPayouts(client)) >= 1)
    const { duplicates, transfers } = await platform.control('GET', '')
    assert.ok(Number(duplicates) >= 1 && Number(transfers) > FAULTS.length)
  })
}
