// Idempotency-Key on calls to models: one call, one charge and one result, whoever asks how often, and whatever dies in
// between. Two apps on one database stand for two processes.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { Claim } from '../../src/gateway/idempotency/claim.ts'
import { IdempotentCalls } from '../../src/gateway/idempotency/idempotent-calls.ts'
import { forgetResultsJob } from '../../src/gateway/idempotency/jobs.ts'
import type { ApiError } from '../../src/platform/errors.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Ask,
  assertBooksClosed,
  balanceOf,
  type ChatReply,
  chat,
  codeOf,
  grant,
  mark,
  openChat,
  readReply,
  recordsOf,
  saidIn,
  startGateway,
  svcOf,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { connectHosted, createOAuthApp } from '../support/oauth.ts'
import { wav } from '../support/sound.ts'

const gateway = await startGateway()
const { database_url } = gateway
const other = await startGateway({}, { database_url })
const FLASH = 'elevenlabs/eleven_flash_v2_5'

async function customer(credits = 10_000_000n) {
  const owner = await gateway.customer(credits)
  const { key, id: key_id } = await owner.newKey()
  /** The same call each time, unless `extra` says otherwise; its text is found at the provider again. */
  const marker = mark()
  const idempotency_key = randomUUID()
  const asked = (extra: Partial<Ask> = {}): Ask => ({
    key,
    model: 'gpt-4o-mini',
    prompt: `[[sandbox:tokens=20]] ${marker}`,
    ...extra,
    headers: { 'idempotency-key': idempotency_key, ...extra.headers },
  })
  const ask = (extra: Partial<Ask> = {}, url = gateway.url) => chat(url, asked(extra))
  const post = (path: string, body: object | FormData, signal: AbortSignal | null = null) =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      signal,
      headers: {
        authorization: `Bearer ${key}`,
        'idempotency-key': idempotency_key,
        ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    })
  const asksMade = () => upstreamCalls(gateway, marker).length
  return { ...owner, key, key_id, marker, idempotency_key, asked, ask, post, asksMade }
}

type Customer = Awaited<ReturnType<typeof customer>>

async function assertChargedOnce(who: Customer) {
  const rows = await usageOf(gateway, who.key_id)
  assert.equal(rows.length, 1)
  const { posted, held } = await balanceOf(gateway, who.account_id)
  assert.deepEqual([posted, held], [10_000_000n - (rows[0]?.credits_used ?? 0n), 0n])
}

const isReplay = (reply: ChatReply) => reply.headers['idempotent-replayed'] === 'true'
const errorOf = (reply: ChatReply) =>
  (JSON.parse(reply.text) as { error: { code: string; message: string; hint: string } }).error

/** As if the process had died at that point. */
async function forgetEnd(who: Customer, columns: { id?: string; node_id: string }) {
  await sql(
    database_url,
    `update idempotent_call set form = null, head = null, events = null, body = null,
       id = coalesce($3, id), node_id = $2
     where key = $1`,
    [who.idempotency_key, columns.node_id, columns.id ?? null],
  )
}

describe('the same key and body', () => {
  test('get the same result, byte for byte, from any process, charged once', async () => {
    const who = await customer()
    const first = await who.ask()
    assert.equal(first.status, 200)
    assert.equal(isReplay(first), false)
    for (const url of [gateway.url, other.url]) {
      const again = await who.ask({}, url)
      assert.equal(again.status, 200)
      assert.equal(isReplay(again), true)
      assert.equal(again.text, first.text)
      assert.equal(again.headers['content-type'], first.headers['content-type'])
      for (const name of ['x-svc-generation-id', 'x-svc-upstream-model'])
        assert.equal(again.headers[name], first.headers[name])
      assert.notEqual(again.headers['x-request-id'], first.headers['x-request-id'])
    }
    assert.equal(who.asksMade(), 1)
    await assertChargedOnce(who)
  })

  test('name the generation by the id of its usage row', async () => {
    const who = await customer()
    const reply = await who.ask()
    const rows = await sql<{ id: string }>(
      database_url,
      'select id from usage_event where key_id = $1',
      [who.key_id],
    )
    assert.deepEqual(rows, [{ id: reply.headers['x-svc-generation-id'] }])
  })

  test('are told to come back while the first is running, by any process', async () => {
    const who = await customer()
    const slow = { prompt: `[[sandbox:slow=700]] ${who.marker}` }
    const first = readReply(openChat(gateway.url, who.asked(slow)))
    await eventually('the provider is asked', async () => who.asksMade() === 1)
    for (const url of [gateway.url, other.url]) {
      const early = await who.ask(slow, url)
      assert.equal(early.status, 409)
      assert.equal(errorOf(early).code, 'bad_request')
      assert.equal(early.headers['retry-after'], '1')
      assert.match(errorOf(early).hint, /Retry-After/)
    }
    const { text } = await first
    assert.equal((await who.ask(slow, other.url)).text, text)
    await assertChargedOnce(who)
  })

  test('that race in two processes are one call', async () => {
    const who = await customer()
    const urls = [0, 1, 2, 3, 4, 5].map((at) => (at % 2 ? gateway.url : other.url))
    const replies = await Promise.all(urls.map((url) => who.ask({}, url)))
    assert.ok(replies.every(({ status }) => status === 200 || status === 409))
    assert.equal(replies.filter((reply) => reply.status === 200 && !isReplay(reply)).length, 1)
    assert.equal(who.asksMade(), 1)
    await assertChargedOnce(who)
  })

  test('work with the retries of the official client', async () => {
    const who = await customer()
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: who.key, maxRetries: 3 })
    const body = {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user' as const, content: `[[sandbox:slow=300]] ${who.marker}` }],
    }
    const headers = { 'Idempotency-Key': who.idempotency_key }
    const answers = await Promise.all(
      [0, 1].map(() => client.chat.completions.create(body, { headers })),
    )
    assert.deepEqual(answers[0], answers[1])
    await assertChargedOnce(who)
  })

  test('whose client left get the answer that it could not read', async () => {
    for (const stream of [false, true]) {
      const who = await customer()
      const call = { stream, prompt: `[[sandbox:slow=200]] [[sandbox:tokens=30]] ${who.marker}` }
      const left = openChat(gateway.url, who.asked(call))
      await eventually('the provider is asked', async () => who.asksMade() === 1)
      left.destroy()
      await eventually('it is charged', async () => (await usageOf(gateway, who.key_id)).length > 0)
      let again = await who.ask(call)
      for (let round = 0; again.status === 409 && round < 20; round++) {
        await sleep(50)
        again = await who.ask(call)
      }
      assert.equal(again.status, 200)
      assert.equal(isReplay(again), true)
      assert.ok(saidIn(again).length > 30)
      assert.equal(who.asksMade(), 1)
      await assertChargedOnce(who)
    }
  })
})

describe('a stream', () => {
  test('is told again as one short stream, in OpenAI’s format and by its client', async () => {
    for (const model of ['gpt-4o-mini', 'anthropic/claude-sonnet-4']) {
      const who = await customer()
      const extra = { stream_options: { include_usage: true } }
      const call = { stream: true, model, extra, prompt: `[[sandbox:tokens=60]] ${who.marker}` }
      const first = await who.ask(call)
      const again = await who.ask(call, other.url)
      assert.match(String(again.headers['content-type']), /^text\/event-stream/)
      assert.equal(isReplay(again), true)
      assert.equal(saidIn(again), saidIn(first))
      assert.deepEqual(svcOf(again), svcOf(first))
      assert.ok(recordsOf(again.text).length < 8, again.text)
      assert.ok(again.text.includes('data: [DONE]\n\n'))
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: who.key, maxRetries: 0 })
      const body = {
        model,
        messages: [{ role: 'user' as const, content: call.prompt }],
        stream: true as const,
        ...extra,
      }
      const headers = { 'idempotency-key': who.idempotency_key }
      const events = await client.chat.completions.create(body, { headers })
      let text = ''
      let tokens: number | undefined
      const stops: unknown[] = []
      for await (const { choices, usage } of events) {
        text += choices[0]?.delta.content ?? ''
        if (choices[0]?.finish_reason) stops.push(choices[0].finish_reason)
        tokens = usage?.completion_tokens ?? tokens
      }
      assert.equal(text, saidIn(first))
      assert.deepEqual(stops, ['stop'])
      assert.equal(tokens, 60)
      await assertChargedOnce(who)
    }
  })

  test('is told again in Anthropic’s format, with its tool calls, by its client', async () => {
    for (const model of ['anthropic/claude-sonnet-4', 'gpt-4o-mini']) {
      const who = await customer()
      const client = new Anthropic({ baseURL: gateway.url, apiKey: who.key, maxRetries: 0 })
      const parameters = {
        type: 'object' as const,
        properties: { city: { type: 'string' } },
        required: ['city'],
      }
      const body = {
        model,
        max_tokens: 1_000,
        messages: [{ role: 'user' as const, content: `[[sandbox:tool]] ${who.marker}` }],
        tools: [{ name: 'get_weather', input_schema: parameters }],
      }
      const headers = { 'idempotency-key': who.idempotency_key }
      const first = await client.messages.stream(body, { headers }).finalMessage()
      const stream = client.messages.stream(body, { headers })
      let events = 0
      stream.on('streamEvent', () => void events++)
      const again = await stream.finalMessage()
      assert.deepEqual(again.content, first.content)
      assert.equal(again.stop_reason, 'tool_use')
      assert.equal(again.id, first.id)
      assert.equal(again.usage.output_tokens, first.usage.output_tokens)
      assert.ok(events < 12)
      assert.equal(who.asksMade(), 1)
      await assertChargedOnce(who)
    }
  })

  test('that broke off and was charged breaks off again, at the same place', async () => {
    const who = await customer()
    const prompt = `[[sandbox:tokens=60]] [[sandbox:cut_after=20]] ${who.marker}`
    const first = await who.ask({ stream: true, prompt })
    const again = await who.ask({ stream: true, prompt })
    assert.equal(isReplay(again), true)
    assert.equal(saidIn(again), saidIn(first))
    assert.equal(codeOf(again), codeOf(first))
    assert.equal(who.asksMade(), 1)
    await assertChargedOnce(who)
  })
})

describe('a key', () => {
  test('with another body is refused, by name', async () => {
    const who = await customer()
    await who.ask()
    const reply = await who.ask({ prompt: 'Something else' })
    assert.equal(reply.status, 400)
    assert.match(errorOf(reply).message, /another body/)
    assert.match(errorOf(reply).hint, /new key/)
    await assertChargedOnce(who)
  })

  test('must be 1 to 255 visible characters, and costs nothing where it is not', async () => {
    const who = await customer()
    for (const key of ['', 'a b', 'x'.repeat(256), 'é']) {
      const reply = await who.ask({ headers: { 'idempotency-key': key } })
      assert.equal(reply.status, 400, JSON.stringify(key))
      assert.match(errorOf(reply).message, /Idempotency-Key/)
    }
    assert.equal(who.asksMade(), 0)
    assert.equal((await who.ask({ headers: { 'idempotency-key': 'x'.repeat(255) } })).status, 200)
  })

  test('of one developer is not another’s, nor is it that of another user or endpoint', async () => {
    const [first, second] = [await customer(), await customer()]
    const headers = { 'idempotency-key': 'the-same-for-all' }
    const prompt = `[[sandbox:tokens=5]] ${first.marker}`
    const made = [
      await first.ask({ headers, prompt }),
      await second.ask({ headers, prompt }),
      await first.ask({ headers, prompt, dialect: 'anthropic' }),
    ]
    assert.deepEqual(
      made.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.ok(made.every((reply) => !isReplay(reply)))
  })

  test('of a linked user is charged to the user, once', async () => {
    const [developer, user] = [await gateway.register(), await gateway.register()]
    await grant(database_url, user.user_id, 1_000_000n)
    const app = await createOAuthApp(gateway, developer)
    await connectHosted(gateway, { app, user, external_user_id: 'u-1' })
    const { key } = await gateway.createKey(developer.bearer, { billing_mode: 'user' })
    const send = () =>
      fetch(`${gateway.url}/v1/users/u-1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': 'k',
        },
        body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }),
      })
    const first = await (await send()).json()
    const again = await send()
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(await again.json(), first)
    const paid = BigInt((first as { svc: { credits_used: number } }).svc.credits_used)
    assert.equal((await balanceOf(gateway, user.user_id)).posted, 1_000_000n - paid)
  })

  test('is free again after a call that cost nothing', async () => {
    const who = await customer(0n)
    assert.equal((await who.ask()).status, 402)
    assert.equal((await who.ask()).status, 402)
    const failing = { prompt: `[[sandbox:500]] ${who.marker}`, headers: { 'idempotency-key': 'f' } }
    const able = await customer()
    assert.equal((await able.ask(failing)).status, 503)
    assert.equal((await able.ask({ ...failing, prompt: `[[sandbox:tokens=5]] Hi` })).status, 200)
    const broken = { prompt: '[[sandbox:cut_after=0]] Hi', stream: true }
    assert.notEqual((await able.ask(broken)).status, 200)
    assert.equal((await able.ask()).status, 200)
    const kept = await sql(database_url, 'select 1 from idempotent_call where developer_id = $1', [
      who.account_id,
    ])
    assert.equal(kept.length, 0)
  })
})

describe('a process that dies', () => {
  test('after the charge and before the result was kept leaves a key that is never charged again', async () => {
    const who = await customer()
    await who.ask()
    await forgetEnd(who, { node_id: randomUUID() })
    for (const url of [gateway.url, other.url]) {
      const reply = await who.ask({}, url)
      assert.equal(reply.status, 409)
      assert.match(errorOf(reply).message, /was charged/)
      assert.equal(reply.headers['x-should-retry'], 'false')
    }
    await assertChargedOnce(who)
  })

  test('before the charge leaves a call that the next who asks makes, under the same id', async () => {
    const who = await customer()
    await who.ask()
    const id = mintWalletId(who.account_id, gateway.clock.now())
    await forgetEnd(who, { node_id: randomUUID(), id })
    const reply = await who.ask({}, other.url)
    assert.equal(reply.status, 200)
    assert.equal(isReplay(reply), false)
    assert.equal(reply.headers['x-svc-generation-id'], id)
    assert.equal((await usageOf(gateway, who.key_id)).length, 2)
    assert.equal((await who.ask()).text, reply.text)
  })

  test('with a hold that is open may still settle it: nobody makes the call meanwhile', async () => {
    const who = await customer()
    const slow = { prompt: `[[sandbox:slow=400]] ${who.marker}` }
    const first = readReply(openChat(other.url, who.asked(slow)))
    await eventually('the provider is asked', async () => who.asksMade() === 1)
    await forgetEnd(who, { node_id: randomUUID() })
    assert.equal((await who.ask(slow)).status, 409)
    await first
    await assertChargedOnce(who)
  })

  test('only in the eyes of others makes the call beside them, and it is charged once', async () => {
    const who = await customer()
    const slow = { prompt: `[[sandbox:slow=500]] ${who.marker}` }
    const first = readReply(openChat(other.url, who.asked(slow)))
    await eventually('the provider is asked', async () => who.asksMade() === 1)
    const [claim] = await sql<{ id: string }>(
      database_url,
      'select id from idempotent_call where key = $1',
      [who.idempotency_key],
    )
    assert.ok(claim)
    // What the sweeper does with the holds of a process that it has declared dead.
    await gateway.parts.call_ledger.release({ id: claim.id, wallet_id: who.account_id, amount: 0n })
    await forgetEnd(who, { node_id: randomUUID() })
    const second = await who.ask(slow)
    const replies = [await first, second]
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    )
    assert.equal(who.asksMade(), 2)
    assert.deepEqual(svcOf(replies[0] ?? second), svcOf(second))
    await assertChargedOnce(who)
  })
})

describe('audio', () => {
  const input = '[[sandbox:seconds=2]] Good day'

  test('that was made is sent again with its numbers, as sound and as events', async () => {
    for (const extra of [{}, { stream_format: 'sse' }]) {
      const who = await customer()
      const body = { model: FLASH, voice: 'alloy', input, ...extra }
      const first = await who.post('/v1/audio/speech', body)
      const sound = await soundOf(first)
      assert.ok(sound.length > 1_000)
      const again = await who.post('/v1/audio/speech', body)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
      const names = ['content-type', 'x-svc-credits-used', 'x-svc-balance-after']
      for (const name of [...names, 'x-svc-generation-id'])
        assert.equal(again.headers.get(name), first.headers.get(name))
      assert.ok((await soundOf(again)).equals(sound))
      await assertChargedOnce(who)
    }
  })

  test('that is too large to keep is not made again, and says so', async () => {
    const who = await customer()
    const long = '[[sandbox:seconds=90]] Good day'
    const body = { model: FLASH, voice: 'alloy', input: long, response_format: 'pcm' }
    const first = await who.post('/v1/audio/speech', body)
    assert.ok((await first.arrayBuffer()).byteLength > 1024 * 1024)
    const again = await who.post('/v1/audio/speech', body)
    assert.equal(again.status, 409)
    const { error } = (await again.json()) as { error: { message: string; hint: string } }
    assert.match(error.message, /too large to keep/)
    assert.match(error.hint, /not charged again/)
    await assertChargedOnce(who)
  })

  test('that the provider broke off was charged: the same error is told again', async () => {
    const who = await customer()
    const broken = '[[sandbox:cut]] '.padEnd(1_000, 'word ')
    const body = { model: FLASH, voice: 'alloy', input: broken, stream_format: 'sse' }
    assert.match(await (await who.post('/v1/audio/speech', body)).text(), /provider_unavailable/)
    const again = await who.post('/v1/audio/speech', body)
    assert.equal(again.status, 503)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.match(await again.text(), /provider_unavailable/)
    await assertChargedOnce(who)
  })

  test('whose client left is there whole for whoever comes back', async () => {
    const who = await customer()
    const body = { model: FLASH, voice: 'alloy', input: `[[sandbox:slow=200]] ${input}` }
    const leaving = AbortSignal.timeout(100)
    await assert.rejects(who.post('/v1/audio/speech', body, leaving))
    let again = await who.post('/v1/audio/speech', body)
    for (let round = 0; again.status === 409 && round < 50; round++) {
      await sleep(50)
      again = await who.post('/v1/audio/speech', body)
    }
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.ok((await soundOf(again)).length > 1_000)
    await assertChargedOnce(who)
  })

  test('that was heard is told again, though each form has another boundary', async () => {
    const who = await customer()
    const form = (seconds: number) => {
      const data = new FormData()
      data.set('file', new Blob([wav(seconds)], { type: 'audio/wav' }), 'a.wav')
      data.set('model', 'elevenlabs/scribe_v1')
      return data
    }
    const first = await who.post('/v1/audio/transcriptions', form(2))
    const text = await first.text()
    assert.equal(first.status, 200, text)
    const again = await who.post('/v1/audio/transcriptions', form(2))
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(await again.text(), text)
    assert.equal((await who.post('/v1/audio/transcriptions', form(3))).status, 400)
    await assertChargedOnce(who)
  })
})

describe('what is kept', () => {
  test('is forgotten after a day, by the job and by whoever asks', async () => {
    const who = await customer()
    await who.ask()
    const age = () =>
      sql(
        database_url,
        `update idempotent_call set created_at = created_at - interval '25 hours' where key = $1`,
        [who.idempotency_key],
      )
    await age()
    const anew = await who.ask()
    assert.equal(anew.status, 200)
    assert.equal(isReplay(anew), false)
    assert.equal((await usageOf(gateway, who.key_id)).length, 2)
    await age()
    await forgetResultsJob(gateway.parts).run(new AbortController().signal)
    const left = await sql<{ key: string; bytes: string }>(
      database_url,
      'select key, result_bytes as bytes from idempotent_call',
    )
    assert.ok(!left.some(({ key }) => key === who.idempotency_key))
    const metrics = await gateway.parts.metrics.registry.metrics()
    const bytes = left.reduce((sum, row) => sum + Number(row.bytes), 0)
    assert.ok(bytes > 0)
    assert.match(metrics, new RegExp(`^svc_idempotent_results_count ${left.length}$`, 'm'))
    assert.match(metrics, new RegExp(`^svc_idempotent_results_bytes ${bytes}$`, 'm'))
  })

  test('has a bound for each developer, in keys and in bytes; keys that are known still answer', async () => {
    const { account_id } = await gateway.customer(0n)
    const calls = new IdempotentCalls({
      ...gateway.parts,
      readNodeId: () => gateway.parts.call_ledger.node_id,
      share_max: { keys: 2, bytes: 1_000 },
    })
    const payer = { account_id, developer_id: account_id, billing_mode: 'developer' as const }
    const rest = { client_id: null, external_user_id: null, markup_bps: 0, cap: null }
    const begin = (key: string) =>
      calls.begin({
        key,
        endpoint: '/v1/messages',
        payer: { ...payer, ...rest },
        digest: Buffer.from('same'),
      })
    const keep = async (key: string, bytes: number) => {
      const claim = await begin(key)
      assert.ok(claim instanceof Claim)
      await claim.keepBody('x'.repeat(bytes), { content_type: 'text/plain' })
      calls.end(claim)
    }
    await keep('first', 600)
    await keep('second', 600)
    const kept = await begin('first')
    assert.ok('result' in kept && kept.result.form === 'body')
    await assert.rejects(begin('second'), { status: 409, message: /too large to keep/ })
    await assert.rejects(begin('third'), (error: ApiError) => {
      assert.equal(error.code, 'rate_limit_exceeded')
      assert.match(error.hint ?? '', /without the header/)
      assert.ok(Number(error.headers['retry-after']) > 0)
      return true
    })
  })
})

test('the books are closed', () => assertBooksClosed(gateway))

async function soundOf(reply: Response): Promise<Buffer> {
  const bytes = Buffer.from(await reply.arrayBuffer())
  if (!String(reply.headers.get('content-type')).startsWith('text/event-stream')) return bytes
  const deltas = recordsOf(bytes.toString()).map(
    ({ data }) => (JSON.parse(data) as { audio?: string }).audio ?? '',
  )
  return Buffer.concat(deltas.map((audio) => Buffer.from(audio, 'base64')))
}
