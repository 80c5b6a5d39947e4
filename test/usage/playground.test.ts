// The playground: calls that a session makes for itself, charged and recorded as all others are.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { suspend } from '../../src/operators/accounts.ts'
import { eventually } from '../support/eventually.ts'
import { wav } from '../support/sound.ts'
import { openDesk, type Person } from './support.ts'

const desk = await openDesk({ CALLS_AT_ONCE_MAX: '2', PUBLIC_URL: 'http://svc.test' })
const CHAT = '/account/playground/chat/completions'
const OWN_PAGE = { origin: 'http://svc.test', 'sec-fetch-site': 'same-origin' }

const browser = ({ token }: Person, more: Record<string, string> = {}) => ({
  cookie: `svc_session=${token}`,
  ...OWN_PAGE,
  ...more,
})

const ask = (headers: Record<string, string>, prompt: string, more: object = {}) =>
  desk.post(
    CHAT,
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }], ...more },
    headers,
  )

const balanceOf = async (person: Person) =>
  (await desk.read<{ balance: number }>('/account', person.bearer)).balance

describe('POST /account/playground/chat/completions', () => {
  it('charges the session’s own wallet, and the record says that it came from the playground', async () => {
    const person = await desk.register()
    const reply = await ask(browser(person), 'hello')
    assert.equal(reply.statusCode, 200, reply.body)
    const { svc } = reply.json<{ svc: Record<string, number | string> }>()
    assert.equal(svc['balance_before'], 1_000_000)
    assert.equal(svc['billing_mode'], 'developer')
    assert.equal(await balanceOf(person), svc['balance_after'])
    const [row, ...others] = await desk.usage(person)
    assert.equal(others.length, 0)
    assert.deepEqual(
      [row?.source, row?.endpoint, row?.key_id, row?.client_id, row?.user_id, row?.credits_used],
      ['playground', CHAT, null, null, person.user_id, svc['credits_used']],
    )
    assert.equal(row?.id, reply.headers['x-svc-generation-id'])
    const receipt = await desk.read<Record<string, unknown>>(
      `/v1/generations/${row?.id}`,
      browser(person),
    )
    assert.equal(receipt['source'], 'playground')
    assert.equal(receipt['credits_used'], svc['credits_used'])
  })

  it('streams as /v1/chat/completions does, with the same last line', async () => {
    const person = await desk.register()
    const reply = await ask(browser(person), 'hello', { stream: true })
    assert.match(String(reply.headers['content-type']), /^text\/event-stream/)
    const [, last] = reply.body.split('data: [DONE]')
    const { svc } = JSON.parse(last?.trim().slice('data: '.length) ?? '')
    assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
    assert.equal(await balanceOf(person), svc.balance_after)
  })

  it('says of a call with a key that it came from the API', async () => {
    const person = await desk.register()
    const { key } = await desk.createKey(person.bearer)
    await desk.ask({ authorization: `Bearer ${key}` }, 'hello')
    await ask(browser(person), '[[sandbox:500]]')
    const rows = await desk.usage(person)
    assert.deepEqual(rows.map(({ source, status }) => `${source} ${status}`).toSorted(), [
      'api ok',
      'playground failed',
    ])
  })

  it('refuses a page of another site, whatever cookie comes along, and charges nothing', async () => {
    const person = await desk.register()
    for (const foreign of [
      { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.test' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const reply = await ask({ cookie: `svc_session=${person.token}`, ...foreign }, 'hello')
      assert.equal(reply.statusCode, 403, reply.body)
    }
    assert.equal(await balanceOf(person), 1_000_000)
  })

  it('takes a session only, and no session opens /v1/chat/completions', async () => {
    const person = await desk.register()
    const { key } = await desk.createKey(person.bearer)
    for (const headers of [{}, { authorization: `Bearer ${key}` }, { 'x-api-key': key }]) {
      assert.equal((await ask(headers, 'hello')).statusCode, 401)
    }
    assert.equal((await ask(person.bearer, 'hello')).statusCode, 200)
    assert.equal((await desk.ask(browser(person), 'hello')).statusCode, 401)
  })

  it('refuses to charge anybody else', async () => {
    const person = await desk.register()
    for (const name of ['x-svc-user', 'x-external-user-id']) {
      const reply = await ask(browser(person, { [name]: 'ext-1' }), 'hello')
      assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
    }
  })

  it('refuses a suspended account and a session that has ended', async () => {
    const person = await desk.register()
    const left = await desk.register()
    await desk.post('/auth/logout', {}, left.bearer)
    assert.equal((await ask(browser(left), 'hello')).statusCode, 401)
    await suspend(desk.parts, person.email, { who: 'otto', reason: 'fraud' })
    assert.equal((await ask(browser(person), 'hello')).statusCode, 403)
  })

  it('counts among the calls that one payer has running at once', async () => {
    const person = await desk.register()
    const { key } = await desk.createKey(person.bearer)
    const slow = [1, 2].map(() => ask(browser(person), '[[sandbox:slow=1500]] hello'))
    await eventually('they run', () => desk.parts.running.payers === 1)
    await wait(200)
    assert.equal((await ask(browser(person), 'hello')).statusCode, 429)
    assert.equal((await desk.ask({ authorization: `Bearer ${key}` }, 'hello')).statusCode, 429)
    for (const reply of await Promise.all(slow)) assert.equal(reply.statusCode, 200)
  })

  it('charges once for one Idempotency-Key', async () => {
    const person = await desk.register()
    const headers = browser(person, { 'idempotency-key': 'same' })
    const first = await ask(headers, 'hello')
    const again = await ask(headers, 'hello')
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.deepEqual(again.json().svc, first.json().svc)
    assert.equal(await balanceOf(person), first.json().svc.balance_after)
  })
})

describe('sound in the playground', () => {
  it('is spoken, made and heard for the session’s own wallet', async () => {
    const person = await desk.register()
    const speech = await desk.post(
      '/account/playground/audio/speech',
      { model: 'elevenlabs/eleven_flash_v2_5', voice: 'alloy', input: 'Good day' },
      browser(person),
    )
    assert.equal(speech.statusCode, 200, speech.body)
    assert.equal(speech.headers['content-type'], 'audio/mpeg')
    const sound = await desk.post(
      '/account/playground/audio/sound-effects',
      { model: 'elevenlabs/eleven_text_to_sound_v2', input: 'Rain' },
      browser(person),
    )
    assert.equal(sound.statusCode, 200, sound.body)
    const upload = new FormData()
    upload.set('file', new Blob([wav(2)], { type: 'audio/wav' }), 'a.wav')
    upload.set('model', 'elevenlabs/scribe_v1')
    const encoded = new Response(upload)
    const heard = await desk.request({
      method: 'POST',
      url: '/account/playground/audio/transcriptions',
      headers: browser(person, {
        'content-type': encoded.headers.get('content-type') ?? '',
      }),
      payload: Buffer.from(await encoded.arrayBuffer()),
    })
    assert.equal(heard.statusCode, 200, heard.body)
    assert.equal(await balanceOf(person), Number(heard.headers['x-svc-balance-after']))
    const rows = await desk.usage(person)
    assert.deepEqual(
      rows.map(({ source, key_id }) => [source, key_id]),
      [1, 2, 3].map(() => ['playground', null]),
    )
  })

  it('finds its voices with a session', async () => {
    const person = await desk.register()
    const { data } = await desk.read<{ data: unknown[] }>('/v1/audio/voices', browser(person))
    assert.ok(data.length > 0)
  })
})
