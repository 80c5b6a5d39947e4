// The record of calls: what each of those who may see a call sees of it, and that nothing is missing.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallItem, openApp, openDesk } from './support.ts'

const desk = await openDesk()

describe('GET /account', () => {
  it('says who one is, what one has and which steps are done, from what is there', async () => {
    const person = await desk.register()
    type Account = { onboarding: Record<string, boolean> } & Record<string, unknown>
    const account = () => desk.read<Account>('/account', person.bearer)
    const { onboarding, created_at, service: _service, ...rest } = await account()
    assert.deepEqual(rest, {
      id: person.user_id,
      email: person.email,
      email_verified: false,
      balance: 1_000_000,
      held: 0,
      available: 1_000_000,
      promotional: 1_000_000,
      is_operator: false,
      came_from: 'registration',
      low_balance_credits: 500_000,
      mode: 'sandbox',
    })
    assert.equal(created_at, desk.clock.now().toISOString())
    const steps = ['verify_email', 'create_key', 'first_call', 'top_up', 'register_app']
    assert.deepEqual(Object.keys(onboarding), [...steps, 'add_webhook', 'connect_payouts'])
    assert.ok(Object.values(onboarding).every((done) => !done))
    const { key } = await desk.createKey(person.bearer)
    await desk.ask({ authorization: `Bearer ${key}` }, 'hello')
    const after = (await account()).onboarding
    assert.deepEqual(
      [after['create_key'], after['first_call'], after['top_up']],
      [true, true, false],
    )
  })

  it('is for a session only', async () => {
    const { bearer } = await desk.register()
    const { key } = await desk.createKey(bearer)
    for (const headers of [{}, { authorization: `Bearer ${key}` }]) {
      for (const url of ['/account', '/account/usage', '/account/usage/summary']) {
        assert.equal((await desk.get(url, headers)).statusCode, 401, url)
      }
    }
  })
})

describe('GET /account/usage', () => {
  it('has every call: those that were served, and those that were refused or failed', async () => {
    const person = await desk.register()
    const { key, id: key_id } = await desk.createKey(person.bearer)
    const headers = { authorization: `Bearer ${key}` }
    const served = await desk.ask(headers, 'hello', { logit_bias: {}, seed: 1, stream: true })
    assert.equal(served.statusCode, 200)
    const unknown = await desk.ask(headers, 'hello', { model: 'no-such\u0000-model' })
    const failed = await desk.ask(headers, '[[sandbox:500]]')
    const cut = await desk.ask(headers, '[[sandbox:cut]]', { stream: true })
    const limit = { spend_limit_credits: 1, spend_limit_period: 'total' }
    const limited = await desk.createKey(person.bearer, limit)
    const poor = await desk.ask({ authorization: `Bearer ${limited.key}` }, 'hello')
    assert.deepEqual(
      [unknown, failed, cut, poor].map((reply) => reply.statusCode),
      [404, 503, 200, 402],
    )
    const calls = await desk.usage(person)
    const seen = new Map(calls.map((call) => [call.id, call]))
    const find = (reply: typeof served): CallItem => {
      const call = seen.get(String(reply.headers['x-svc-generation-id']))
      assert.ok(call, reply.body)
      assert.equal(call.request_id, reply.headers['x-request-id'])
      assert.equal(call.key_id, reply === poor ? limited.id : key_id)
      return call
    }
    assert.equal(calls.length, 5)
    const whole = find(served)
    assert.deepEqual([whole.status, whole.stream, whole.error_code], ['ok', true, null])
    assert.equal(whole.upstream_model, served.headers['x-svc-upstream-model'])
    assert.equal((whole.balance_before ?? 0) - whole.credits_used, whole.balance_after)
    assert.equal(whole.cost_credits + whole.markup_credits, whole.credits_used)
    assert.deepEqual(whole.prices, {
      input: 150_000,
      cached_input: 75_000,
      cache_write: 150_000,
      cache_write_1h: 150_000,
      output: 600_000,
    })
    assert.ok(whole.input_tokens > 0 && whole.output_tokens > 0 && whole.latency_ms !== null)
    const free = [find(unknown), find(failed), find(poor)]
    assert.deepEqual(
      free.map((call) => [call.status, call.error_code, call.credits_used, call.balance_after]),
      [
        ['failed', 'model_not_found', 0, null],
        ['failed', failed.json().error.code, 0, null],
        ['failed', 'insufficient_credits', 0, null],
      ],
    )
    assert.equal(free[0]?.model, 'no-such-model')
    const broken = find(cut)
    assert.equal(broken.status, 'failed')
    assert.ok(broken.error_code !== null && broken.credits_used > 0)
  })

  it('shows a developer the calls of users without their balances, and a user no key', async () => {
    const { developer, user, app, key_id, headers } = await openApp(desk)
    const reply = await desk.ask(headers, 'hello')
    const { svc } = reply.json<{ svc: Record<string, number> }>()
    const [for_developer] = await desk.usage(developer)
    const [for_user] = await desk.usage(user)
    assert.ok(for_developer && for_user)
    const shared = [
      'id',
      'credits_used',
      'markup_credits',
      'client_id',
      'external_user_id',
    ] as const
    for (const field of shared) assert.equal(for_developer[field], for_user[field])
    assert.equal(for_user.client_id, app.client_id)
    assert.equal(for_user.external_user_id, 'ext-1')
    assert.ok(for_user.markup_credits > 0)
    assert.deepEqual([for_developer.balance_before, for_developer.balance_after], [null, null])
    assert.deepEqual(
      [for_user.balance_before, for_user.balance_after],
      [svc['balance_before'], svc['balance_after']],
    )
    assert.deepEqual([for_developer.key_id, for_user.key_id], [key_id, null])
    assert.deepEqual(await desk.usage(user, `?key_id=${key_id}`), [])
    assert.equal((await desk.usage(developer, `?key_id=${key_id}`)).length, 1)
    assert.deepEqual(await desk.usage(await desk.register()), [])
  })

  it('is filtered by everything it shows, and read in pages that neither skip nor repeat', async () => {
    const person = await desk.register()
    const first = await desk.createKey(person.bearer)
    const second = await desk.createKey(person.bearer)
    const start = desk.clock.now().toISOString()
    for (let turn = 0; turn < 3; turn++) {
      await desk.ask({ authorization: `Bearer ${first.key}` }, 'hello')
      await desk.ask({ authorization: `Bearer ${second.key}` }, 'hello', { model: 'gpt-4o' })
      await desk.ask({ authorization: `Bearer ${second.key}` }, '[[sandbox:500]]')
      if (turn === 1) desk.clock.advance(60_000)
    }
    const later = desk.clock.now().toISOString()
    const count = async (query: string) => (await desk.usage(person, query)).length
    const counts: [string, number][] = [
      ['', 9],
      ['?model=gpt-4o', 3],
      [`?key_id=${second.id}`, 6],
      [`?key_id=${second.id}&status=failed`, 3],
      ['?status=ok', 6],
      ['?billing_mode=user', 0],
      ['?client_id=x', 0],
      ['?external_user_id=x', 0],
      [`?from=${later}`, 3],
      [`?from=${start}&to=${later}`, 6],
    ]
    for (const [query, expected] of counts) assert.equal(await count(query), expected, query)
    const ids: string[] = []
    let query = '?limit=2'
    for (;;) {
      const page = await desk.read<{ data: CallItem[]; next_cursor: string | null }>(
        `/account/usage${query}`,
        person.bearer,
      )
      ids.push(...page.data.map((call) => call.id))
      if (page.next_cursor === null) break
      query = `?limit=2&cursor=${page.next_cursor}`
    }
    assert.deepEqual(
      ids,
      (await desk.usage(person)).map((call) => call.id),
    )
    assert.deepEqual(ids, ids.toSorted().toReversed())
  })

  it('comes as CSV with a line for each call', async () => {
    const person = await desk.register()
    const { key } = await desk.createKey(person.bearer)
    await desk.ask({ authorization: `Bearer ${key}` }, 'hello')
    await desk.ask({ authorization: `Bearer ${key}` }, 'hello', { model: '=cmd' })
    await desk.flush()
    const reply = await desk.get('/account/usage?format=csv', person.bearer)
    assert.match(String(reply.headers['content-type']), /^text\/csv/)
    const [head = '', ...lines] = reply.body.trimEnd().split('\r\n')
    assert.equal(lines.length, 2)
    assert.match(
      head,
      /^id,created_at,status,error_code,model,.*input_price,.*output_price,cost_credits/,
    )
    assert.ok(lines.some((line) => line.includes(",'=cmd,")))
    for (const line of lines) assert.equal(line.split(',').length, head.split(',').length)
  })

  it('refuses what is no time, no cursor and no key with 400, also for CSV', async () => {
    const { bearer } = await desk.register()
    const wrong = [
      'from=x',
      'to=x',
      'cursor=x',
      'key_id=x',
      'status=x',
      'limit=0',
      'billing_mode=x',
    ]
    for (const query of wrong.flatMap((one) => [one, `${one}&format=csv`])) {
      const reply = await desk.get(`/account/usage?${query}`, bearer)
      assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'], query)
    }
  })
})

describe('GET /v1/generations/:id', () => {
  type Generation = CallItem & {
    ended_by: string
    error: { message: string; hint: string | null } | null
    receipt: {
      lines: { tokens: number; price: number; millionths: number }[]
      millionths: number
    } & Record<string, number>
  }

  it('is the receipt: buckets times prices, rounded up once, and the markup', async () => {
    const { developer, user, headers } = await openApp(desk)
    const reply = await desk.ask(headers, 'hello')
    const url = `/v1/generations/${String(reply.headers['x-svc-generation-id'])}`
    const mine = await desk.read<Generation>(url, headers)
    const { receipt } = mine
    for (const { tokens, price, millionths } of receipt.lines)
      assert.equal(tokens * price, millionths)
    const sum = receipt.lines.reduce((total, line) => total + line.millionths, 0)
    assert.equal(receipt.millionths, sum)
    assert.equal(Math.ceil(sum / 1_000_000), receipt['cost_credits'])
    assert.equal(Math.floor((receipt['cost_credits'] ?? 0) * 0.2), receipt['markup_credits'])
    assert.equal(mine.ended_by, 'provider')
    assert.equal(mine.error, null)
    const for_user = await desk.read<Generation>(url, user.bearer)
    const for_developer = await desk.read<Generation>(url, developer.bearer)
    assert.equal((for_user.balance_before ?? 0) - mine.credits_used, for_user.balance_after)
    assert.equal(for_developer.balance_before, null)
  })

  it('is nobody else’s to see, whatever the credential', async () => {
    const { developer, headers } = await openApp(desk)
    const reply = await desk.ask(headers, 'hello')
    const url = `/v1/generations/${String(reply.headers['x-svc-generation-id'])}`
    const stranger = await desk.register()
    const { key } = await desk.createKey(stranger.bearer)
    const sibling = await desk.createKey(developer.bearer)
    for (const other of [stranger.bearer, { 'x-api-key': key }, { 'x-api-key': sibling.key }]) {
      assert.equal((await desk.get(url, other)).statusCode, 404)
    }
    assert.equal((await desk.get(url, {})).statusCode, 401)
    assert.equal((await desk.get('/v1/generations/x', headers)).statusCode, 404)
  })

  it('says of a refused call that the gateway ended it', async () => {
    const person = await desk.register()
    const { key } = await desk.createKey(person.bearer)
    const headers = { authorization: `Bearer ${key}` }
    const reply = await desk.ask(headers, 'hello', { model: 'nothing' })
    await desk.flush()
    const url = `/v1/generations/${String(reply.headers['x-svc-generation-id'])}`
    const call = await desk.read<Generation>(url, headers)
    assert.deepEqual(
      [call.status, call.ended_by, call.error_code, call.receipt['credits_used']],
      ['failed', 'gateway', 'model_not_found', 0],
    )
    assert.deepEqual(call.error, { message: 'No such model.', hint: reply.json().error.hint })
  })
})

describe('GET /account/transactions', () => {
  it('says through which app and on which model each call was paid', async () => {
    const { user, app, headers } = await openApp(desk)
    const reply = await desk.ask(headers, 'hello')
    const { data } = await desk.read<{ data: Record<string, unknown>[] }>(
      '/account/transactions',
      user.bearer,
    )
    const [call, welcome] = data
    assert.deepEqual(
      [call?.['kind'], call?.['description'], call?.['client_id'], call?.['app_name']],
      ['usage', 'gpt-4o-mini', app.client_id, app.name],
    )
    assert.equal(call?.['generation_id'], reply.headers['x-svc-generation-id'])
    assert.deepEqual([welcome?.['client_id'], welcome?.['app_name']], [null, null])
    const csv = await desk.get('/account/transactions?format=csv', user.bearer)
    assert.ok(csv.body.includes(`${app.client_id},${app.name}`), csv.body)
  })
})
