import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import { grantCredits } from '../wallet/postings.ts'

const service = await createApp({ settings: { WELCOME_CREDITS: '100' } })

const read = (headers: Record<string, string>, query = '') =>
  service.request({ url: `/account/transactions${query}`, headers })

async function grant(account_id: string, amount: bigint, description: string): Promise<void> {
  service.clock.advance(1)
  const id = mintWalletId(account_id, service.clock.now())
  await service.parts.db.transaction((tx) =>
    grantCredits(tx, { id, account_id, amount, description }),
  )
}

test('the statement is newest first, in pages, and its balances form a chain', async () => {
  const { bearer, user_id } = await service.register()
  for (let i = 1; i <= 6; i++) await grant(user_id, BigInt(i), `grant ${i}`)
  const rows: { amount: number; balance_before: number; balance_after: number; kind: string }[] = []
  let query = '?limit=3'
  for (;;) {
    const page = (await read(bearer, query)).json()
    rows.push(...page.data)
    if (!page.has_more) break
    query = `?limit=3&cursor=${page.next_cursor}`
  }
  assert.deepEqual(
    rows.map((row) => row.amount),
    [6, 5, 4, 3, 2, 1, 100],
  )
  assert.equal(rows.at(-1)?.kind, 'welcome')
  assert.equal(rows.at(-1)?.balance_before, 0)
  rows.forEach((row, index) => {
    assert.equal(row.balance_before + row.amount, row.balance_after)
    if (index > 0) assert.equal(row.balance_after, rows[index - 1]?.balance_before)
  })
})

test('the CSV has every row, and nothing in it runs as a formula', async () => {
  const { bearer, user_id } = await service.register()
  for (let i = 0; i < 600; i++) await grant(user_id, 1n, `n${i}`)
  await grant(user_id, 7n, '=SUM(A1:A9), "quoted"\nand broken')
  const reply = await read(bearer, '?format=csv')
  assert.equal(reply.statusCode, 200)
  assert.match(String(reply.headers['content-type']), /^text\/csv/)
  const lines = reply.body.split('\r\n')
  assert.equal(
    lines[0],
    'id,created_at,kind,amount,balance_before,balance_after,description,generation_id,client_id,app_name',
  )
  assert.ok(
    lines[1]?.includes(`,grant,7,700,707,"'=SUM(A1:A9), ""quoted""\nand broken",`),
    String(lines[1]),
  )
  assert.equal(lines.length, 1 + 602 + 1)
})

test('a cursor that was not given out is 400, also for CSV, before anything is sent', async () => {
  const { bearer } = await service.register()
  for (const query of [
    '?cursor=x',
    '?cursor=-1',
    '?format=csv&cursor=x',
    '?format=xml',
    '?limit=0',
  ]) {
    const reply = await read(bearer, query)
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'], query)
  }
})

test('a statement is for its owner’s session only', async () => {
  const { bearer } = await service.register()
  const { key } = await service.createKey(bearer)
  assert.equal((await read({ 'x-api-key': key })).statusCode, 401)
  assert.equal((await read({})).statusCode, 401)
})
