// Accounts that cost nothing pool their welcome credits, through calls with a markup and through transfers: nothing of it
// becomes cash. As the API sees it.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { topUp } from '../../src/wallet/postings.ts'
import { createApp, sendQueuedMail, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { linkUser } from '../support/links.ts'
import { connectHosted, createOAuthApp } from '../support/oauth.ts'
import { assertBooks, chargeOf, holdOf, LONG } from '../wallet/support.ts'

const ACCOUNTS = LONG ? 50 : 4
const WELCOME = 20_000

type Person = Awaited<ReturnType<TestApp['register']>>
type Summary = { total_earned_credits: number; not_payable_credits: number }

const service = await createApp({
  settings: {
    WELCOME_CREDITS: String(WELCOME),
    VERIFIED_CREDITS: '500',
    PROMOTIONAL_CREDITS: 'spend_only',
  },
})

async function wallet(person: Person) {
  const reply = await service.request({ url: '/account', headers: person.bearer })
  const { balance, promotional } = reply.json<{ balance: number; promotional: number }>()
  return { balance, promotional }
}

async function earningsOf(developer: Person): Promise<Summary> {
  const headers = { cookie: `svc_session=${developer.token}` }
  const reply = await service.request({ url: '/developers/earnings', headers })
  return reply.json<{ summary: Summary }>().summary
}

async function ask(key: string, user: string) {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello '.repeat(200) }] }
  const headers = { authorization: `Bearer ${key}`, 'x-svc-user': user }
  const reply = await service.post('/v1/chat/completions', body, headers)
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<{ svc: { credits_used: number } }>().svc.credits_used
}

async function pay(person: Person, amount: bigint): Promise<void> {
  const id = mintWalletId(person.user_id, service.clock.now())
  await service.parts.db.transaction((tx) => topUp(tx, { id, account_id: person.user_id, amount }))
}

async function fund(developer: Person, body: object) {
  const { key } = await service.createKey(developer.bearer)
  return await service.post('/v1/funding/credit', body, {
    'x-api-key': key,
    'idempotency-key': `fund-${key}`,
  })
}

const used_tokens = new Set<string>()

/** A new password by mail proves the address. */
async function resetByMail({ email }: Person): Promise<void> {
  await service.post('/auth/forgot-password', { email })
  await sendQueuedMail(service)
  const folder = path.join(service.data_dir, 'mail')
  const token = readdirSync(folder)
    .map((name) => readFileSync(path.join(folder, name), 'utf8').replaceAll(/=\r?\n/g, ''))
    .filter((text) => text.includes(`To: ${email}`))
    .flatMap((text) => text.match(/svc_reset_[\w-]+/)?.[0] ?? [])
    .find((found) => !used_tokens.has(found))
  used_tokens.add(token ?? '')
  const new_password = 'another good one'
  const reply = await service.post('/auth/reset-password', { token, new_password })
  assert.equal(reply.statusCode, 200, reply.body)
}

describe('welcome credits of many accounts', () => {
  it('earn nothing that is paid out, through calls with the highest markup', async () => {
    const developer = await service.register()
    const app = await createOAuthApp(service, developer, { markup_percent: 50 })
    const { key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
    let spent = 0
    for (let index = 0; index < ACCOUNTS; index++) {
      const user = await service.register()
      await connectHosted(service, { app, user, external_user_id: `u-${index}` })
      const used = await ask(key, `u-${index}`)
      assert.deepEqual(await wallet(user), { balance: WELCOME - used, promotional: WELCOME - used })
      spent += used
    }
    const { total_earned_credits, not_payable_credits } = await earningsOf(developer)
    assert.ok(total_earned_credits > 0 && total_earned_credits < spent)
    assert.equal(not_payable_credits, total_earned_credits)
  })

  it('of a call that uses up the last of them, only what paid credits paid is payable', async () => {
    const developer = await service.register()
    const app = await createOAuthApp(service, developer, { markup_percent: 50 })
    const { key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
    const user = await service.register()
    await connectHosted(service, { app, user, external_user_id: 'boundary' })
    const used = await ask(key, 'boundary')
    await pay(user, 10_000n)
    // Leaves all but one of the credits that the next call takes: more than its cost.
    const { call_ledger } = service.parts
    const rest = BigInt(WELCOME - used - (used - 1))
    await call_ledger.settle(chargeOf(await call_ledger.hold(holdOf(user.user_id, rest)), rest))
    assert.equal(await ask(key, 'boundary'), used)
    assert.deepEqual(await wallet(user), { balance: 9_999, promotional: 0 })
    const rows = await sql<{ amount: string; payable: boolean }>(
      service.database_url,
      `select amount, payable from developer_earning where developer_id = $1 order by payable, amount`,
      [developer.user_id],
    )
    const markup = Number(rows[1]?.amount)
    assert.deepEqual(rows, [
      { amount: String(markup - 1), payable: false },
      { amount: String(markup), payable: false },
      { amount: '1', payable: true },
    ])
    const series = await service.request({
      url: '/developers/earnings?group_by=app',
      headers: { cookie: `svc_session=${developer.token}` },
    })
    assert.equal(series.json<{ series: { calls: number }[] }>().series[0]?.calls, 2)
  })

  it('are not transferred: 402 says what could be, and nothing changes', async () => {
    const collector = await service.register()
    for (let index = 0; index < ACCOUNTS; index++) {
      const account = await service.register()
      await linkUser(service, { developer: account, user: collector, external_user_id: 'me' })
      const before = await wallet(account)
      for (const amount of [1, WELCOME]) {
        const reply = await fund(account, { amount, external_user_id: 'me' })
        assert.equal(reply.statusCode, 402)
        const { code, message, hint } = reply.json().error
        assert.equal(code, 'insufficient_credits')
        assert.match(
          message,
          new RegExp(`can transfer 0 credits: ${WELCOME} of its ${WELCOME} are`),
        )
        assert.match(hint, /Promotional credits.*cannot be transferred/)
      }
      assert.deepEqual(await wallet(account), before)
    }
    assert.deepEqual(await wallet(collector), { balance: WELCOME, promotional: WELCOME })
  })

  it('stay behind when credits that were paid for are transferred', async () => {
    const [developer, user] = [await service.register(), await service.register()]
    await linkUser(service, { developer, user, external_user_id: 'one' })
    await pay(developer, 300n)
    const refused = await fund(developer, { amount: 301, external_user_id: 'one' })
    assert.match(refused.json().error.message, /can transfer 300 credits/)
    assert.equal((await fund(developer, { amount: 300, external_user_id: 'one' })).statusCode, 200)
    assert.deepEqual(await wallet(developer), { balance: WELCOME, promotional: WELCOME })
    assert.deepEqual(await wallet(user), { balance: WELCOME + 300, promotional: WELCOME })
    const { key } = await service.createKey(user.bearer)
    const balance = await service.request({ url: '/v1/balance', headers: { 'x-api-key': key } })
    assert.equal(balance.json().promotional, WELCOME)
  })
})

describe('credits for a verified address', () => {
  it('come once, as promotional credits, however often an address is verified', async () => {
    const person = await service.register()
    for (let round = 0; round < 2; round++) {
      await resetByMail(person)
      const [row] = await sql<{ posted: string; promotional: string }>(
        service.database_url,
        'select posted, promotional from wallet where id = $1',
        [person.user_id],
      )
      const credits = String(WELCOME + 500)
      assert.deepEqual(row, { posted: credits, promotional: credits })
    }
  })
})

it('leaves books that agree', () => assertBooks(service.parts.db))
