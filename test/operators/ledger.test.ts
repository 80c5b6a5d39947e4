// The book as operators see it: what the last checks found, open holds, and the chain of a wallet.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audit } from '../../src/wallet/audit.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { actsOf, makeOperator, readAll } from './support.ts'

const service = await createApp()
const operator = await makeOperator(service)
const { database_url, parts, clock } = service

type Check = { part: string; ok: boolean; differences: number; found: { name: string }[] }
type Book = {
  ok: boolean | null
  checks: Check[]
  seals: object[]
  accounts: { sum: string; totals: Record<string, string> } | null
  wallets_below_zero: number | null
  holds: Sums
}
type Sums = {
  count: number
  credits: number
  oldest_at: string | null
  by_age: { younger_than_seconds: number | null; count: number; credits: number }[]
}
type Line = {
  sequence: number
  transaction_id: string
  amount: number
  balance_before: number
  balance_after: number
  promotional_before: number | null
  promotional_after: number
}

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
const HOUR_S = 3_600

async function customer(calls: number) {
  const person = await service.register()
  const { key } = await service.createKey(person.bearer)
  for (let made = 0; made < calls; made++) {
    const reply = await service.post('/v1/chat/completions', CHAT, { 'x-api-key': key })
    assert.equal(reply.statusCode, 200, reply.body)
  }
  return person
}

test('before any check nothing is claimed of the book', async () => {
  const book = await operator.read<Book>('/operator/ledger')
  assert.deepEqual([book.ok, book.checks, book.accounts], [null, [], null])
  assert.equal(book.wallets_below_zero, 0)
})

test('a check answers its proofs, and is what the page shows from then on', async () => {
  await customer(2)
  const reply = await operator.act('/operator/ledger/checks', { reason: 'monthly look' })
  assert.equal(reply.statusCode, 200, reply.body)
  const { ok, proofs } = reply.json<{ ok: boolean; proofs: { name: string; checked: number }[] }>()
  assert.equal(ok, true)
  assert.ok(proofs.length > 10)
  assert.ok(proofs.some(({ name, checked }) => name === 'transactions_sum_to_zero' && checked > 2))
  const book = await operator.read<Book>('/operator/ledger')
  assert.deepEqual(
    [book.ok, book.checks.map(({ part }) => part), book.accounts?.sum],
    [true, ['all'], '0'],
  )
  const totals = await sql<{ account: string; total: string }>(
    database_url,
    'select account::text, sum(amount)::text as total from journal group by account',
  )
  assert.deepEqual(
    book.accounts?.totals,
    Object.fromEntries(totals.map(({ account, total }) => [account, total])),
  )
  const acts = await actsOf(service, operator)
  assert.deepEqual(
    acts.map(({ act, reason }) => [act, reason]),
    [['ledger check', 'monthly look']],
  )
})

test('the checks of the worker are shown too, and a difference is not hidden by a later part', async () => {
  const person = await customer(1)
  await sql(database_url, `update wallet set held = 1 where id = $1`, [person.user_id])
  const bucket = Number.parseInt(person.user_id.slice(15, 18), 16) >> 6
  await audit(parts, [bucket])
  clock.advance(1)
  await audit(parts, 'book')
  const book = await operator.read<Book>('/operator/ledger')
  assert.equal(book.ok, false)
  const found = book.checks.find(({ part }) => part === `bucket ${bucket}`)
  assert.deepEqual(
    [found?.ok, found?.differences, found?.found.map(({ name }) => name)],
    [false, 1, ['held_is_sum_of_holds']],
  )
  await sql(database_url, 'update wallet set held = 0 where id = $1', [person.user_id])
  await audit(parts, [bucket])
  assert.equal((await operator.read<Book>('/operator/ledger')).ok, true)
})

test('open holds are listed oldest first, by age, and added up', async () => {
  const person = await service.register()
  const ages = [2 * HOUR_S, 30 * 60, 30, 1]
  const ids = ages.map((age) =>
    mintWalletId(person.user_id, new Date(clock.now().getTime() - age * 1000)),
  )
  for (const [index, id] of ids.entries()) {
    await sql(
      database_url,
      `insert into hold (amount, expires_at, bucket, id, wallet_id, node_id)
       values ($1, now() + interval '1 hour', wallet_bucket($2), $2, $3, $2)`,
      [10 + index, id, person.user_id],
    )
  }
  const pages = await readAll<{ id: string }>(operator, '/operator/holds', 3)
  assert.deepEqual(
    pages.map((page) => page.map(({ id }) => id)),
    [ids.slice(0, 3), ids.slice(3)],
  )
  const old = await operator.read<{ data: { id: string }[]; sums: Sums }>(
    '/operator/holds?older_than_seconds=900',
  )
  assert.deepEqual(
    old.data.map(({ id }) => id),
    ids.slice(0, 2),
  )
  assert.deepEqual([old.sums.count, old.sums.credits], [4, 46])
  const by_age = old.sums.by_age.filter(({ count }) => count > 0)
  assert.deepEqual(
    by_age.map(({ younger_than_seconds, count, credits }) => [
      younger_than_seconds,
      count,
      credits,
    ]),
    [
      [10, 1, 13],
      [60, 1, 12],
      [3600, 1, 11],
      [null, 1, 10],
    ],
  )
  await sql(database_url, 'delete from hold where wallet_id = $1', [person.user_id])
})

test('the chain of a wallet is its journal, line by line, each beginning where the last one ended', async () => {
  const person = await customer(3)
  const headers = { 'idempotency-key': 'chain' }
  await operator.act(
    `/operator/users/${person.user_id}/grant`,
    { credits: 77, paid: true },
    headers,
  )
  const url = `/operator/wallets/${person.user_id}/chain`
  const lines = (await readAll<Line>(operator, url, 2)).flat()
  const rows = await sql<{
    seq: number
    tx: string
    amount: number
    after: number
    promotional: number
  }>(
    database_url,
    `select wallet_seq::integer as seq, tx, amount::integer as amount, balance_after::integer as after,
       promotional_after::integer as promotional
     from journal where owner = $1 and account = 'wallet' order by wallet_seq desc`,
    [person.user_id],
  )
  assert.ok(rows.length >= 5)
  assert.deepEqual(
    lines.map((line) => [
      line.sequence,
      line.transaction_id,
      line.amount,
      line.balance_after,
      line.promotional_after,
    ]),
    rows.map(({ seq, tx, amount, after, promotional }) => [seq, tx, amount, after, promotional]),
  )
  for (const [index, line] of lines.entries()) {
    assert.equal(line.balance_before + line.amount, line.balance_after)
    assert.equal(line.balance_before, lines[index + 1]?.balance_after ?? 0)
    assert.equal(line.promotional_before, lines[index + 1]?.promotional_after ?? 0)
  }
  const nobody = await service.request({
    url: '/operator/wallets/01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10/chain',
    headers: operator.bearer,
  })
  assert.equal(nobody.statusCode, 404)
})
