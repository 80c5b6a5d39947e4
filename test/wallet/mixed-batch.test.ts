// Holds and settlements of one batch: one transaction, in an order that suits both.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import type { HoldRequest } from '../../src/wallet/holds.ts'
import type { LedgerAnswers, SettleItem } from '../../src/wallet/lanes/batch-statement.ts'
import { limitedCounters, type SpendLimit } from '../../src/wallet/spend-limits.ts'
import { createDatabase, openDb } from '../support/database.ts'
import { assertBooks, chargeOf, LONG, makeBatchWriter, makeWallets } from './support.ts'

const ROUNDS = LONG ? 1_000 : 100

const url = await createDatabase()
const db = openDb(url)
const lanes = [await makeBatchWriter(url), await makeBatchWriter(url)]
after(async () => {
  await Promise.all(lanes.map((lane) => lane.close()))
  await db.close()
})

async function send(
  lane: (typeof lanes)[number] | undefined,
  items: { settles?: SettleItem[]; holds?: HoldRequest[] },
): Promise<LedgerAnswers> {
  assert.ok(lane)
  return await lane.write(items)
}

function ask(wallet_id: string, credits: bigint, spend_limits: SpendLimit[] = []): HoldRequest {
  const id = mintWalletId(wallet_id, new Date())
  return { id, wallet_id, min_credits: credits, max_credits: credits, spend_limits }
}

/** An owner of its own for each account. */
function limitOf(account_id: string): SpendLimit {
  const limits = { limit_credits: 1_000_000n, period: 'total' } as const
  return { kind: 'key', owner_id: account_id, account_id, ...limits }
}

function charge(held: HoldRequest, used: bigint): SettleItem {
  const { id, wallet_id, max_credits } = held
  const hold = { id, wallet_id, amount: max_credits, spend: limitedCounters(held) }
  return { hold, charge: chargeOf(hold, used) }
}

describe('a batch of both kinds', () => {
  it('gives a hold the room that a settlement beside it gives back', async () => {
    const [wallet_id = ''] = await makeWallets(db, 1, 100n)
    const first = ask(wallet_id, 100n)
    const { holds } = await send(lanes[0], { holds: [first] })
    assert.equal(holds[0]?.state, 'granted')
    const second = ask(wallet_id, 90n)
    const answers = await send(lanes[0], { settles: [charge(first, 10n)], holds: [second] })
    assert.deepEqual(
      answers.settles.map(({ state, charged, balance_after }) => [state, charged, balance_after]),
      [['settled', 10n, 90n]],
    )
    assert.deepEqual(
      answers.holds.map(({ state, granted }) => [state, granted]),
      [['granted', 90n]],
    )
    const again = await send(lanes[0], { settles: [charge(first, 10n)], holds: [second] })
    assert.deepEqual(again, answers)
  })

  // Each of two lanes settles what the other one holds next.
  const CROSSINGS = {
    wallets: (wallet_ids: string[], lane: number) => ask(wallet_ids[lane] ?? '', 5n),
    'spend limits': (wallet_ids: string[], lane: number, round: number) =>
      ask(wallet_ids[lane] ?? '', 5n, [limitOf(wallet_ids[(lane + round) % 2] ?? '')]),
  }
  for (const [what, request] of Object.entries(CROSSINGS)) {
    it(`never waits in a circle for ${what}, ${ROUNDS} times`, async () => {
      const wallet_ids = await makeWallets(db, 2, 1_000_000n)
      let open = [0, 1].map((lane) => request(wallet_ids, lane, 0))
      await send(lanes[0], { holds: open })
      for (let round = 1; round <= ROUNDS; round++) {
        const from = what === 'wallets' ? round % 2 : 0
        const next = [0, 1].map((lane) => request(wallet_ids, (lane + from) % 2, round))
        const answers = await Promise.all(
          open.map((held, lane) =>
            send(lanes[lane], {
              settles: [charge(held, 1n)],
              holds: next.slice(lane, lane + 1),
            }),
          ),
        )
        for (const { settles, holds } of answers) {
          assert.equal(settles[0]?.state, 'settled')
          assert.equal(holds[0]?.state, 'granted')
        }
        open = next
      }
      await assertBooks(db)
    })
  }
})
