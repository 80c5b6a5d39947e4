import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { assertBooks, makeWallets } from '../../test/wallet/support.ts'
import { readBalance } from '../wallet/postings.ts'
import { listTransactions } from '../wallet/statement.ts'
import { creditUser } from './transfers.ts'

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

async function pair(credits: bigint): Promise<[string, string]> {
  const [developer_id, user_id] = await makeWallets(db, 2, credits)
  assert.ok(developer_id && user_id)
  return [developer_id, user_id]
}

function fund(developer_id: string, user_id: string | undefined, body: object, key?: string) {
  return creditUser(db, {
    developer_id,
    idempotency_key: key,
    body: body as { amount: unknown },
    at: new Date(),
    promotional_credits: 'as_money',
    findUser: async () => (user_id ? { user_id, external_user_id: 'ext-1' } : undefined),
  })
}

async function moves(developer_id: string): Promise<number> {
  const page = await listTransactions(db, { account_id: developer_id, limit: 100 })
  return page.data.filter((transaction) => transaction.kind === 'transfer_out').length
}

describe('funding a user', () => {
  it('moves the credits once for 50 equal requests at once, with 50 equal answers', async () => {
    const [developer_id, user_id] = await pair(1_000n)
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => fund(developer_id, user_id, { amount: 10 }, 'one')),
    )
    assert.equal(new Set(answers.map((answer) => answer.body)).size, 1)
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1)
    assert.equal(await moves(developer_id), 1)
    assert.equal((await readBalance(db, user_id))?.balance, 1_010n)
    const body = JSON.parse(answers[0]?.body ?? '')
    assert.equal(body.developer_balance, 990)
    assert.equal(body.user_balance, 1_010)
    assert.equal(body.external_user_id, 'ext-1')
    const restarted = openDb(url)
    const replayed = await creditUser(restarted, {
      developer_id,
      idempotency_key: 'one',
      body: { amount: 10 },
      at: new Date(),
      promotional_credits: 'as_money',
      findUser: () => Promise.reject(new Error('a replay asks for nobody')),
    })
    await restarted.close()
    assert.equal(replayed.body, answers[0]?.body)
  })

  it('refuses the same key with another body, and no key at all', async () => {
    const [developer_id, user_id] = await pair(1_000n)
    await fund(developer_id, user_id, { amount: 10, description: 'a' }, 'two')
    const same = await fund(developer_id, user_id, { description: 'a', amount: 10 }, 'two')
    assert.equal(same.replayed, true)
    for (const [body, key] of [
      [{ amount: 11, description: 'a' }, 'two'],
      [{ amount: 10 }, undefined],
      [{ amount: 10 }, ''],
      [{ amount: 10 }, 'x'.repeat(256)],
      [{ amount: 10 }, 'tab\t'],
    ] as const) {
      await assert.rejects(fund(developer_id, user_id, body, key), { code: 'bad_request' })
    }
    assert.equal(await moves(developer_id), 1)
  })

  it('remembers successes only: a refused key works once there is money', async () => {
    const [developer_id, user_id] = await pair(100n)
    await assert.rejects(fund(developer_id, user_id, { amount: 101 }, 'three'), {
      code: 'insufficient_credits',
    })
    await assert.rejects(fund(developer_id, undefined, { amount: 50 }, 'four'), {
      code: 'user_not_found',
    })
    await fund(user_id, developer_id, { amount: 1 }, 'back')
    await fund(developer_id, user_id, { amount: 101 }, 'three')
    await fund(user_id, developer_id, { amount: 50 }, 'four')
    assert.equal((await readBalance(db, developer_id))?.balance, 50n)
  })

  it('takes 2^53−1 exactly, and nothing that is no whole positive amount', async () => {
    const [developer_id, user_id] = await pair(0n)
    const [rich] = await makeWallets(db, 1, 9_007_199_254_740_991n)
    assert.ok(rich)
    for (const amount of [
      2 ** 53,
      0,
      -1,
      1.5,
      '5',
      null,
      undefined,
      Number.NaN,
      Infinity,
      [],
      {},
    ]) {
      await assert.rejects(fund(rich, user_id, { amount }, 'bad'), { code: 'bad_request' })
    }
    const answer = await fund(rich, user_id, { amount: 2 ** 53 - 1 }, 'all')
    assert.match(answer.body, /"user_balance":9007199254740991,/)
    assert.equal((await readBalance(db, rich))?.balance, 0n)
    assert.equal((await readBalance(db, developer_id))?.balance, 0n)
    const [other] = await makeWallets(db, 1, 1n)
    assert.ok(other)
    await assert.rejects(fund(other, user_id, { amount: 1 }, 'over'), /too large/)
  })
})

describe('the statement', () => {
  it('lists every posting once, newest first, in pages', async () => {
    const [developer_id, user_id] = await pair(1_000n)
    for (let i = 1; i <= 25; i++) {
      await fund(developer_id, user_id, { amount: i, description: `n ${i}` }, `key ${i}`)
    }
    const seen: string[] = []
    let cursor: string | undefined
    let balance: bigint | undefined
    for (let pages = 0; pages < 10; pages++) {
      const page = await listTransactions(db, {
        account_id: developer_id,
        limit: 7,
        ...(cursor && { cursor }),
      })
      for (const transaction of page.data) {
        seen.push(transaction.id)
        assert.equal(transaction.balance_before + transaction.amount, transaction.balance_after)
        if (balance !== undefined) assert.equal(transaction.balance_after, balance)
        balance = transaction.balance_before
      }
      if (page.next_cursor === null) break
      cursor = page.next_cursor
    }
    assert.equal(new Set(seen).size, 26)
    assert.equal(balance, 0n)
    await assert.rejects(
      listTransactions(db, { account_id: developer_id, limit: 7, cursor: "1' or 1=1" }),
      { code: 'bad_request' },
    )
  })

  it('leaves books that agree', async () => {
    await assertBooks(db)
    const rows = await sql(url, "select 1 from journal where account = 'transit'")
    assert.ok(rows.length > 0)
  })
})
