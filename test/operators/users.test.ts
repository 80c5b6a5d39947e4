// People and apps: found by how they begin, seen whole, suspended, given credits; each act with its record.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endSessions } from '../../src/operators/accounts.ts'
import { foldUsage } from '../../src/usage/jobs.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { type ActFact, actsOf, type List, makeOperator, readAll } from './support.ts'

const service = await createApp()
const operator = await makeOperator(service)

type User = { id: string; email: string; state: string; balance_credits: number }
type Granted = { id: string; credits: number; balance_before: number; balance_after: number }

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }

async function balanceOf(person: { user_id: string }): Promise<number> {
  return (await operator.read<User>(`/operator/users/${person.user_id}`)).balance_credits
}

function grant(person: { user_id: string }, key: string, body: object = {}) {
  const headers = { 'idempotency-key': key }
  return operator.act(`/operator/users/${person.user_id}/grant`, { credits: 500, ...body }, headers)
}

test('accounts are found by the beginning of the address, whatever its case, and by id', async () => {
  const emails = ['zoe.1@example.com', 'Zoe.2@example.com', 'zoe.3@example.com', 'zo@example.com']
  const people = []
  for (const email of emails) people.push(await service.register(email))
  const found = (query: string) =>
    operator.read<List<User>>(`/operator/users?query=${encodeURIComponent(query)}`)
  assert.deepEqual(
    (await found('ZOE.')).data.map(({ email }) => email),
    emails.slice(0, 3),
  )
  assert.deepEqual(
    (await found('zo@example.com')).data.map(({ email }) => email),
    [emails[3]],
  )
  assert.deepEqual((await found('oe.1')).data, [])
  assert.deepEqual((await found('zoe%')).data, [])
  const [first] = people
  assert.deepEqual(
    (await found(first?.user_id ?? '')).data.map(({ email }) => email),
    [emails[0]],
  )
  const pages = await readAll<User>(operator, '/operator/users?query=zoe', 1)
  assert.deepEqual(
    pages.flat().map(({ email }) => email),
    emails.slice(0, 3),
  )
})

test('all accounts are listed newest first, page by page, each once', async () => {
  const pages = await readAll<User>(operator, '/operator/users', 2)
  const rows = await sql<{ id: string }>(
    service.database_url,
    'select id from account order by id desc',
  )
  assert.deepEqual(
    pages.flat().map(({ id }) => id),
    rows.map(({ id }) => id),
  )
})

test('a cursor that is not one of ours is 400', async () => {
  for (const url of [
    '/operator/users?query=a&cursor=!',
    '/operator/users?cursor=!',
    '/operator/apps?query=a&cursor=W10',
    '/operator/audit?cursor=1',
    '/operator/holds?cursor=x',
    '/operator/payouts?cursor=x',
    '/operator/payout-runs?cursor=x',
    `/operator/wallets/${operator.user_id}/chain?cursor=0`,
  ]) {
    const reply = await service.request({ url, headers: operator.bearer })
    assert.equal(reply.statusCode, 400, `${url} ${reply.body}`)
  }
})

test('an account is seen whole: balance, spend, keys, apps, disputes, payouts, events', async () => {
  const person = await service.register()
  const key = await service.createKey(person.bearer)
  const app = await createOAuthApp(service, person)
  const call = await service.post('/v1/chat/completions', CHAT, { 'x-api-key': key.key })
  assert.equal(call.statusCode, 200, call.body)
  await foldUsage({ ...service.parts, wakeMailSender: () => {} })
  const page = await operator.read<Record<string, unknown>>(`/operator/users/${person.user_id}`)
  const account = await service.request({ url: '/account', headers: person.bearer })
  const { balance, promotional } = account.json<{ balance: number; promotional: number }>()
  assert.deepEqual(
    [page['email'], page['balance_credits'], page['promotional_credits'], page['held_credits']],
    [person.email, balance, promotional, 0],
  )
  assert.equal(page['spent_30_days_credits'], 1_000_000 - balance)
  assert.equal(page['requests_30_days'], 1)
  assert.deepEqual(page['counts'], { sessions: 1, keys: 1, apps: 1, connected_apps: 0 })
  assert.deepEqual(page['disputes'], { open: 0, lost: 0, open_credits: 0 })
  assert.deepEqual(page['payouts'], {
    connected: false,
    enabled: false,
    blocked: false,
    disabled_reason: null,
  })
  const keys = page['keys'] as { id: string }[]
  const apps = page['apps'] as { client_id: string }[]
  assert.deepEqual([keys[0]?.id, apps[0]?.client_id], [key.id, app.client_id])
  assert.ok((page['events'] as object[]).length >= 2)
  for (const id of ['nobody', '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10']) {
    const reply = await service.request({ url: `/operator/users/${id}`, headers: operator.bearer })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'user_not_found'])
  }
})

test('each act is recorded with who, why and from where; what did nothing is not', async () => {
  const olga = await makeOperator(service)
  const person = await service.register()
  const key = await service.createKey(person.bearer)
  const app = await createOAuthApp(service, person)
  const url = `/operator/users/${person.user_id}`
  const changed = async (path: string) =>
    (await olga.act(path, { reason: ' card fraud ' })).json<{ changed: boolean }>().changed
  assert.equal(await changed(`/operator/apps/${app.client_id}/suspend`), true)
  assert.equal(await changed(`/operator/apps/${app.client_id}/suspend`), false)
  assert.equal(await changed(`/operator/apps/${app.client_id}/resume`), true)
  assert.equal(await changed(`${url}/suspend`), true)
  assert.equal(await changed(`${url}/suspend`), false)
  assert.equal((await olga.read<User>(url)).state, 'suspended')
  assert.equal(await changed(`${url}/resume`), true)
  assert.equal(await changed(`${url}/resume`), false)
  service.clock.advance(1)
  const limited = await service.request({
    method: 'PATCH',
    url: `${url}/keys/${key.id}`,
    headers: { ...olga.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify({ rate_limit_per_minute: 7, reason: 'card fraud' }),
  })
  assert.deepEqual(limited.json(), { id: key.id, name: 'test', rate_limit_per_minute: 7 })
  const ended = await olga.act(`${url}/end-sessions`, { reason: 'card fraud' })
  assert.deepEqual(ended.json(), { sessions: 1 })
  const me = await service.request({ url: '/account', headers: person.bearer })
  assert.equal(me.statusCode, 401)
  const acts = await actsOf(service, olga)
  assert.deepEqual(
    acts.map(({ act, subject }) => [act, subject]),
    [
      ['app suspend', app.client_id],
      ['app resume', app.client_id],
      ['account suspend', person.email],
      ['account resume', person.email],
      ['key-limit', key.id],
      ['account end-sessions', person.email],
    ],
  )
  for (const { who, reason, ip, session_id } of acts) {
    assert.deepEqual([who, reason, ip], [olga.email, 'card fraud', '127.0.0.1'])
    assert.ok(session_id)
  }
})

test('the record is read by who, act and subject, and has what the command line did too', async () => {
  const person = await service.register()
  await endSessions(service.parts, person.email, { who: 'cron', reason: 'night' })
  for (const [index, key] of ['a', 'b', 'c'].entries()) {
    assert.equal((await grant(person, `audit-${key}`, { credits: index + 1 })).statusCode, 200)
  }
  const list = (query: string) => operator.read<List<ActFact>>(`/operator/audit?${query}`)
  const subject = `subject=${encodeURIComponent(person.email)}`
  assert.deepEqual(
    (await list(subject)).data.map(({ act }) => act),
    ['grant', 'grant', 'grant', 'account end-sessions'],
  )
  assert.equal((await list(`${subject}&act=grant`)).data.length, 3)
  const [by_hand] = (await list('who=cron')).data
  assert.deepEqual([by_hand?.reason, by_hand?.operator_id, by_hand?.ip], ['night', null, null])
  assert.equal((await list(`${subject}&who=nobody`)).data.length, 0)
  const pages = await readAll<{ id: string }>(operator, '/operator/audit', 3)
  const rows = await sql<{ id: string }>(
    service.database_url,
    'select id from operator_act order by id desc',
  )
  assert.deepEqual(
    pages.flat().map(({ id }) => id),
    rows.map(({ id }) => id),
  )
})

test('a grant is given once for each key, also where two ask at once', async () => {
  const person = await service.register()
  const replies = await Promise.all([grant(person, 'race'), grant(person, 'race')])
  assert.deepEqual(
    replies.map(({ statusCode }) => statusCode),
    [200, 200],
  )
  const [first, second] = replies
  assert.equal(first?.body, second?.body)
  const replayed = replies.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
  assert.equal(replayed.length, 1)
  const { balance_before, balance_after, credits } = first?.json<Granted>() ?? {}
  assert.deepEqual([balance_before, balance_after, credits], [1_000_000, 1_000_500, 500])
  assert.equal(await balanceOf(person), 1_000_500)
  const acts = await actsOf(service, operator)
  assert.equal(acts.filter(({ subject }) => subject === person.email).length, 1)
  const other = await grant(person, 'race', { credits: 501 })
  assert.equal(other.statusCode, 400)
  assert.match(other.json().error.message, /another body/)
  assert.equal(await balanceOf(person), 1_000_500)
})

test('a present is promotional, and what was paid for elsewhere is not', async () => {
  const person = await service.register()
  const promotional = async () =>
    (await operator.read<{ promotional_credits: number }>(`/operator/users/${person.user_id}`))
      .promotional_credits
  const before = await promotional()
  await grant(person, 'present')
  assert.equal(await promotional(), before + 500)
  await grant(person, 'paid', { paid: true })
  assert.equal(await promotional(), before + 500)
  assert.equal(await balanceOf(person), 1_001_000)
})

test('an act that fails leaves no record', async () => {
  const otto = await makeOperator(service)
  const [person, other] = [await service.register(), await service.register()]
  const key = await service.createKey(other.bearer)
  const nobody = '/operator/users/01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'
  const headers = { 'idempotency-key': 'fails' }
  const patch = (url: string) =>
    service.request({
      method: 'PATCH',
      url,
      headers: { ...otto.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ rate_limit_per_minute: 7, reason: 'why' }),
    })
  const replies = [
    await otto.act(`${nobody}/suspend`, {}),
    await otto.act(`${nobody}/end-sessions`, {}),
    await otto.act(`${nobody}/grant`, { credits: 1 }, headers),
    await otto.act(`/operator/users/${person.user_id}/grant`, { credits: 2 ** 53 - 1 }, headers),
    await otto.act(`/operator/users/${person.user_id}/grant`, { credits: 1 }),
    await otto.act(`/operator/users/${otto.user_id}/suspend`, {}),
    await otto.act('/operator/apps/svc_client_none/suspend', {}),
    await otto.act('/operator/webhooks/none/pause', {}),
    await patch(`/operator/users/${person.user_id}/keys/${key.id}`),
    await patch(`${nobody}/keys/none`),
  ]
  for (const reply of replies) {
    assert.ok(reply.statusCode >= 400 && reply.statusCode < 500, reply.body)
  }
  assert.deepEqual(await actsOf(service, otto), [])
  const [limit] = await sql<{ limit: number | null }>(
    service.database_url,
    'select rate_limit_per_minute as limit from api_key where id = $1',
    [key.id],
  )
  assert.equal(limit?.limit, null)
})

test('an act whose record cannot be written has not happened', async () => {
  const person = await service.register()
  const key = await service.createKey(person.bearer)
  const app = await createOAuthApp(service, person)
  await sql(
    service.database_url,
    `create function refuse_record() returns trigger language plpgsql as $$
     begin
       raise exception 'no record' using errcode = 'restrict_violation';
     end $$;
     create trigger refuse_record before insert on operator_act
     for each row when (new.reason = 'cannot be written') execute function refuse_record()`,
  )
  const url = `/operator/users/${person.user_id}`
  const why = { reason: 'cannot be written' }
  const state = () => operator.read<Record<string, unknown>>(url)
  const before = await state()
  const replies = [
    await operator.act(`${url}/suspend`, why),
    await operator.act(`${url}/end-sessions`, why),
    await operator.act(`${url}/grant`, { credits: 1, ...why }, { 'idempotency-key': 'unwritten' }),
    await operator.act(`/operator/apps/${app.client_id}/suspend`, why),
    await service.request({
      method: 'PATCH',
      url: `${url}/keys/${key.id}`,
      headers: { ...operator.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ rate_limit_per_minute: 7, ...why }),
    }),
    await operator.act('/operator/ledger/checks', why),
  ]
  assert.deepEqual(
    replies.map(({ statusCode }) => statusCode),
    replies.map(() => 500),
  )
  assert.deepEqual(await state(), before)
  const { checks } = await operator.read<{ checks: object[] }>('/operator/ledger')
  assert.deepEqual(checks, [])
})

test('apps are found by client id, developer and the beginning of the name', async () => {
  const developer = await service.register()
  const names = ['Quiet Poems', 'quiet prose', 'Loud Poems', 'Quiet Poems']
  const apps = []
  for (const name of names) apps.push(await createOAuthApp(service, developer, { name }))
  const found = async (query: string) =>
    (await operator.read<List<{ name: string }>>(`/operator/apps?query=${query}`)).data
  assert.deepEqual(
    (await found('QUIET')).map(({ name }) => name),
    ['Quiet Poems', 'Quiet Poems', 'quiet prose'],
  )
  assert.equal((await found(apps[2]?.client_id ?? '')).length, 1)
  assert.equal((await found(developer.user_id)).length, 4)
  assert.deepEqual(await found('poems'), [])
  const pages = await readAll<{ client_id: string }>(operator, '/operator/apps?query=quiet', 1)
  assert.equal(new Set(pages.flat().map(({ client_id }) => client_id)).size, 3)
})
