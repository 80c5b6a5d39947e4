// What a user lets an app spend is a bound, however many calls run at once, on however many processes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { assertBooksClosed, chat as chatOverSocket, mark } from '../support/gateway.ts'
import { connect, connectHosted, createOAuthApp, signIn } from '../support/oauth.ts'
import { startTwo } from '../support/remote.ts'

const CALLS = 50
/** It holds in full, so that calls are in each other's way. */
const MODEL = 'google/gemini-2.5-pro'
/** Covers about eight of the calls below. */
const CAP_CREDITS = 10_000
const CAP = { cap: 'monthly', cap_usd: '0.01' }

const { left, right, database_url } = await startTwo()
const developer = await left.register()
const user = await left.register()
const visitor = await signIn(left, user)
const app = await createOAuthApp(left, developer, { markup_percent: 20 })
const token = await connect(left, { app, user, visitor, fields: CAP })
await connectHosted(left, { app, user, visitor, external_user_id: 'u', fields: CAP })
const { key } = await left.createKey(developer.bearer)

/** By token and by link in turn: both are the same user and the same app, and so the same cap. */
function chat(index: number, side = index % 2 === 0 ? left : right): Promise<Answer> {
  const credential =
    index % 4 < 2
      ? { authorization: `Bearer ${token.access_token}` }
      : { 'x-api-key': key, 'x-svc-user': 'u' }
  const messages = [
    { role: 'user', content: `${mark()} [[sandbox:tokens=100]] [[sandbox:reasoning=0]]` },
  ]
  const body = { model: MODEL, max_tokens: 100, messages }
  return side.post('/v1/chat/completions', body, credential)
}

function assertCapped(reply: Answer): void {
  const { code, hint } = reply.json().error
  assert.deepEqual([reply.statusCode, code], [402, 'insufficient_credits'])
  assert.match(hint, /cap of 10,000 credits \(\$0\.01\) a month/)
}

async function counted(): Promise<{ spent: number; held: number }> {
  const [row] = await sql<{ spent: number; held: number }>(
    database_url,
    `select s.spent::int as spent, s.held::int as held from spend_counter s
     join app_connection c on c.id = s.owner_id where c.account_id = $1`,
    [user.user_id],
  )
  return row ?? { spent: 0, held: 0 }
}

test('a call that does not fit while another holds the whole cap is told of the cap, not to add credits', async () => {
  const prompt = `${mark()} [[sandbox:tokens=20]] [[sandbox:slow=2500]]`
  const asked = { key: token.access_token, model: MODEL, prompt, max_tokens: 4000 } as const
  const running = chatOverSocket(left.server.url, asked)
  await eventually('it holds', async () => (await counted()).held > CAP_CREDITS - 1000)
  const refused = await chat(1)
  assertCapped(refused)
  assert.match(refused.json().error.message, /running/)
  assert.equal((await running).status, 200)
  assert.equal((await counted()).held, 0)
})

test('50 calls at once on two processes never spend more than the cap, and those that do not fit say so', async () => {
  const { spent: before } = await counted()
  let highest = 0
  let answered = 0
  const ask = (index: number) => chat(index).finally(() => (answered += 1))
  const calls = Promise.all(Array.from({ length: CALLS }, (_, index) => ask(index)))
  await eventually(
    'all are answered',
    async () => {
      const { spent, held } = await counted()
      highest = Math.max(highest, spent + held)
      return answered === CALLS
    },
    30_000,
  )
  const replies = await calls
  const served = replies.filter((reply) => reply.statusCode === 200)
  const refused = replies.filter((reply) => reply.statusCode !== 200)
  assert.ok(served.length >= 5 && refused.length >= 30, `${served.length} served`)
  for (const reply of refused) assertCapped(reply)
  const charged = served.reduce((sum, reply) => sum + reply.json().svc.credits_used, before)
  assert.ok(charged <= CAP_CREDITS, `${charged} were charged`)
  assert.ok(highest > 0 && highest <= CAP_CREDITS, `${highest} were spent or held at one moment`)
  assert.deepEqual(await counted(), { spent: charged, held: 0 })
  const me = await right.request({ url: '/auth/me', headers: user.bearer })
  assert.equal(me.json().balance, 1_000_000 - charged)
})

test('what is left is spent to the last call that fits, and not beyond', async () => {
  let reply = await chat(0)
  for (let index = 1; reply.statusCode === 200; index++) {
    assert.ok(index < 20)
    reply = await chat(index)
  }
  assertCapped(reply)
  for (let index = 0; index < 4; index++) assertCapped(await chat(index))
  assert.ok((await counted()).spent <= CAP_CREDITS)
})

test('disconnecting, connecting again and a new token do not begin the month anew', async () => {
  const url = `/account/connections/${app.client_id}`
  await left.request({ method: 'DELETE', url, headers: user.bearer })
  Object.assign(token, await connect(right, { app, user, visitor, fields: CAP }))
  for (const side of [left, right]) assertCapped(await chat(0, side))
})

test('a cap that is raised lets calls through on the other process, and one that is lowered does not', async () => {
  const setCap = (cap_credits: number | null) =>
    left.request({
      method: 'PATCH',
      url: `/account/connections/${app.client_id}`,
      headers: { ...user.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ cap_credits }),
    })
  const becomes = (status: number) =>
    eventually(`it is ${status}`, async () => (await chat(1)).statusCode === status, 1_000)
  assert.equal((await setCap(null)).statusCode, 200)
  await becomes(200)
  const { spent } = await counted()
  assert.equal((await setCap(1)).statusCode, 200)
  await becomes(402)
  assert.ok((await counted()).spent >= spent, 'what was spent without a cap counts too')
})

test('after all of this no hold is open, the ledger proves itself, and the developer earned the markup', async () => {
  await assertBooksClosed({ database_url })
  const [row] = await sql<{ earned: string; markup: string }>(
    database_url,
    `select (select sum(amount) from developer_earning) as earned,
       (select sum(markup_credits) from usage_event) as markup`,
  )
  assert.ok(Number(row?.earned) > 0)
  assert.equal(row?.earned, row?.markup)
})
