// What keys and apps have spent of what they may, and who uses an app.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openApp, openDesk, type Person } from './support.ts'

const desk = await openDesk()

const cap = (person: Person, client_id: string, body: object) =>
  desk.request({
    method: 'PATCH',
    url: `/account/connections/${client_id}`,
    headers: { ...person.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  })

type Listed = { data: Record<string, unknown>[]; has_more: boolean; next_cursor: string | null }
const first = async (url: string, person: Person) =>
  (await desk.read<Listed>(url, person.bearer)).data[0]

describe('a key with a spend limit', () => {
  it('says what it spent in the period and when that ends, in the list and to itself', async () => {
    const person = await desk.register()
    const limit = { spend_limit_credits: 500_000, spend_limit_period: 'day' }
    const { key } = await desk.createKey(person.bearer, limit)
    const { svc } = (await desk.ask({ 'x-api-key': key }, 'hello')).json()
    const listed = await first('/developers/keys', person)
    const own = await desk.read<Record<string, unknown>>('/v1/key', { 'x-api-key': key })
    const midnight = new Date(desk.clock.now())
    midnight.setUTCHours(24, 0, 0, 0)
    for (const shown of [listed, own]) {
      assert.equal(shown?.['spent_period_credits'], svc.credits_used)
      assert.equal(shown?.['period_resets_at'], midnight.toISOString())
    }
    const free = await desk.createKey(person.bearer)
    const made: Record<string, unknown> = free
    assert.deepEqual([made['spent_period_credits'], made['period_resets_at']], [null, null])
  })
})

describe('PATCH /account/connections/:client_id', () => {
  it('sets what an app may spend in a day, which counts what it spent today', async () => {
    const { user, app, headers } = await openApp(desk)
    const { svc } = (await desk.ask(headers, 'hello')).json()
    const wanted = { cap_credits: svc.credits_used + 1, cap_period: 'day' }
    assert.equal((await cap(user, app.client_id, wanted)).statusCode, 200)
    const shown = await first('/account/connections', user)
    assert.equal(shown?.['cap_credits'], wanted.cap_credits)
    assert.equal(shown?.['cap_period'], 'day')
    assert.equal(shown?.['spent_credits'], svc.credits_used)
    assert.equal(shown?.['markup_percent'], 20)
    assert.deepEqual(shown?.['scopes'], ['credits.read', 'credits.spend'])
    assert.equal(shown?.['last_used_at'], desk.clock.now().toISOString())
    const refused = await desk.ask(headers, 'hello')
    assert.equal(refused.statusCode, 402)
    assert.match(refused.json().error.message, /daily spending cap/)
    assert.equal((await cap(user, app.client_id, { cap_credits: null })).statusCode, 200)
    assert.equal((await desk.ask(headers, 'hello')).statusCode, 200)
    for (const body of [{ cap_credits: 0 }, { cap_credits: 5, cap_period: 'week' }, {}]) {
      assert.equal((await cap(user, app.client_id, body)).statusCode, 400)
    }
  })
})

describe('GET /developers/apps/:id/users', () => {
  it('lists who is connected with their names, spending, cap and last use, to the developer only', async () => {
    const { developer, user, app, headers } = await openApp(desk)
    const { svc } = (await desk.ask(headers, 'hello')).json()
    await cap(user, app.client_id, { cap_credits: 700_000 })
    await desk.fold()
    const url = `/developers/apps/${app.id}/users`
    const { connected_at, earned_credits, ...shown } = (await first(url, developer)) ?? {}
    assert.deepEqual(shown, {
      user_id: user.user_id,
      external_user_ids: ['ext-1'],
      cap_credits: 700_000,
      cap_period: 'month',
      spent_credits: svc.credits_used,
      spent_total_credits: svc.credits_used,
      requests: 1,
      last_used_at: desk.clock.now().toISOString(),
    })
    assert.ok(Number(earned_credits) > 0 && typeof connected_at === 'string')
    const page = await desk.read<Listed>(`${url}?limit=1`, developer.bearer)
    assert.deepEqual([page.has_more, page.next_cursor], [false, null])
    assert.equal((await desk.get(url, user.bearer)).statusCode, 404)
    const usersOf = async () => {
      const about = `/developers/apps/${app.id}`
      return (await desk.read<{ connected_users: number }>(about, developer.bearer)).connected_users
    }
    assert.equal(await usersOf(), 1)
    await desk.request({
      method: 'DELETE',
      url: `/account/connections/${app.client_id}`,
      headers: user.bearer,
    })
    assert.equal(await first(url, developer), undefined)
    assert.equal(await usersOf(), 0)
  })
})
