// A change of address needs both mailboxes.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createApp, PASSWORD, sendQueuedMail } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { linksFor } from '../support/mails.ts'
import type { Person } from '../support/oauth.ts'

const DAY_MS = 24 * 60 * 60_000
const service = await createApp({ settings: { VERIFIED_CREDITS: '7' } })

let addresses = 0
const freshAddress = () => `moved-${++addresses}@example.org`

async function ask(person: Person, new_email: string) {
  return await service.post('/account/email', { new_email }, person.bearer)
}

/** The tokens that the two mailboxes got. */
async function tokensOf(person: Person, new_email: string) {
  await sendQueuedMail(service)
  const newest = (email: string) =>
    linksFor(service, email).at(-1)?.searchParams.get('token') ?? 'missing'
  return { from: newest(person.email), to: newest(new_email) }
}

const decide = (token: string, decision?: string) =>
  service.post('/account/email/confirm', { token, ...(decision && { decision }) })

const login = async (email: string) =>
  (await service.post('/auth/login', { email, password: PASSWORD })).statusCode

const kindsOf = async (account_id: string) =>
  (
    await sql<{ kind: string }>(
      service.database_url,
      'select kind from security_event where account_id = $1 order by id',
      [account_id],
    )
  ).map((row) => row.kind)

describe('a change of address', () => {
  test('takes effect when both addresses have agreed, in either order, and confirms the new one, with what that is worth', async () => {
    for (const order of [
      ['from', 'to'],
      ['to', 'from'],
    ] as const) {
      const person = await service.register()
      const new_email = freshAddress()
      assert.deepEqual((await ask(person, new_email)).json(), { success: true })
      const tokens = await tokensOf(person, new_email)
      assert.equal((await decide(tokens[order[0]])).json().state, 'waiting')
      assert.equal(await login(person.email), 200)
      assert.equal((await decide(tokens[order[1]])).json().state, 'changed')
      assert.deepEqual([await login(person.email), await login(new_email)], [401, 200])
      const me = await service.request({ url: '/account', headers: person.bearer })
      const { email, email_verified, balance } = me.json()
      assert.deepEqual([email, email_verified, balance], [new_email, true, 1_000_007])
      const kinds = await kindsOf(person.user_id)
      assert.ok(kinds.includes('email_change_asked') && kinds.includes('email_changed'))
      assert.equal((await decide(tokens.to)).statusCode, 400)
    }
  })

  test('one address alone changes nothing, however often it agrees', async () => {
    const person = await service.register()
    const new_email = freshAddress()
    await ask(person, new_email)
    const { to } = await tokensOf(person, new_email)
    assert.equal((await decide(to)).json().state, 'waiting')
    assert.equal((await decide(to)).statusCode, 400)
    assert.deepEqual([await login(person.email), await login(new_email)], [200, 401])
  })

  test('the old address stops it, and the other link is dead from then on', async () => {
    const person = await service.register()
    const new_email = freshAddress()
    await ask(person, new_email)
    const { from, to } = await tokensOf(person, new_email)
    assert.equal((await decide(from, 'stop')).json().state, 'stopped')
    assert.equal((await decide(to)).statusCode, 400)
    assert.equal(await login(person.email), 200)
    assert.ok((await kindsOf(person.user_id)).includes('email_change_stopped'))
  })

  test('a second request takes the place of the first, and a day is all that either has', async () => {
    const person = await service.register()
    const [first, second] = [freshAddress(), freshAddress()]
    await ask(person, first)
    const old = await tokensOf(person, first)
    await ask(person, second)
    const current = await tokensOf(person, second)
    assert.deepEqual(
      [(await decide(old.from)).statusCode, (await decide(old.to)).statusCode],
      [400, 400],
    )
    assert.equal((await decide(current.to)).json().state, 'waiting')
    service.clock.advance(DAY_MS)
    assert.equal((await decide(current.from)).statusCode, 400)
  })

  test('whether the new address is taken is told only after both have agreed', async () => {
    const [person, other] = [await service.register(), await service.register()]
    const free = freshAddress()
    const replies = [await ask(person, free), await ask(person, other.email)]
    assert.deepEqual(replies[0]?.json(), replies[1]?.json())
    const { from, to } = await tokensOf(person, other.email)
    assert.equal((await decide(from)).json().state, 'waiting')
    const taken = await decide(to)
    assert.deepEqual([taken.statusCode, taken.json().error.code], [409, 'email_exists'])
    assert.deepEqual([await login(person.email), await login(other.email)], [200, 200])
  })

  test('needs a proof of the last quarter of an hour, and an address that is one', async () => {
    const person = await service.register()
    const bad = await ask(person, 'ada＠example.com')
    assert.deepEqual([bad.statusCode, bad.json().error.code], [400, 'invalid_email'])
    service.clock.advance(16 * 60_000)
    const late = await ask(person, freshAddress())
    assert.deepEqual([late.statusCode, late.json().error.code], [403, 'step_up_required'])
  })

  test('a link that is only looked at changes nothing; the page has both buttons and no script', async () => {
    const person = await service.register()
    const new_email = freshAddress()
    await ask(person, new_email)
    const { from, to } = await tokensOf(person, new_email)
    for (const token of [from, to]) {
      const page = await service.request({
        url: `/account/email/confirm?token=${token}`,
        headers: { accept: 'text/html' },
      })
      assert.equal(page.statusCode, 200)
      assert.match(page.body, /value="stop"/)
      assert.match(page.body, /value="confirm"/)
      assert.ok(page.body.includes(new_email) && !page.body.includes('<script'))
    }
    assert.equal((await decide(from)).json().state, 'waiting')
    assert.equal((await decide(to)).json().state, 'changed')
  })
})
