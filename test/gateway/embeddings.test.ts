// Vectors of texts, by the clients that ask for them and by hand, against the stand-ins of OpenAI and Google.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { OpenAIEmbeddings } from '@langchain/openai'
import { embed, embedMany } from 'ai'
import OpenAI from 'openai'
import { countTokens } from '../../sandbox/tokens.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  balanceOf,
  grant,
  mark,
  onlyUsageOf,
  startGateway,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { connectHosted, createOAuthApp } from '../support/oauth.ts'
import { jsonBody, startScriptedProvider } from '../support/scripted-provider.ts'

const SMALL = 'text-embedding-3-small'
const LARGE = 'text-embedding-3-large'
const GEMINI = 'google/gemini-embedding-001'
/** Credits per million tokens, as the providers publish them. */
const PRICES = { [SMALL]: 20_000n, [LARGE]: 130_000n, [GEMINI]: 150_000n }
const CREDITS = 10_000_000n

type Body = {
  object: string
  data: { object: string; index: number; embedding: number[] | string }[]
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
  svc: {
    credits_used: number
    balance_before: number
    balance_after: number
    billing_mode: string
  }
}

const gateway = await startGateway()

async function customer(credits = CREDITS) {
  const owner = await gateway.customer(credits)
  const { key, id: key_id } = await owner.newKey()
  return { ...owner, key, key_id, post: poster(gateway.url, key) }
}

function poster(url: string, key: string) {
  return (body: object, headers: Record<string, string> = {}, path = '/v1/embeddings') =>
    fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
}

async function bodyOf(reply: Response): Promise<Body> {
  const text = await reply.text()
  assert.equal(reply.status, 200, text.slice(0, 500))
  return JSON.parse(text) as Body
}

/** What the stand-in itself says, as float32: nothing of ours is asked. */
async function standInVectors(model: string, texts: string[], dimensions?: number) {
  const { urls } = gateway.sandbox
  if (model !== GEMINI) {
    const body = { model, input: texts, ...(dimensions !== undefined && { dimensions }) }
    const reply = await fetch(`${urls.openai}/embeddings`, {
      method: 'POST',
      headers: { authorization: 'Bearer sandbox', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { data } = (await reply.json()) as { data: { embedding: number[] }[] }
    return data.map(({ embedding }) => embedding.map(Math.fround))
  }
  const name = 'models/gemini-embedding-001'
  const reply = await fetch(`${urls.google}/v1beta/${name}:batchEmbedContents`, {
    method: 'POST',
    headers: { 'x-goog-api-key': 'sandbox', 'content-type': 'application/json' },
    body: JSON.stringify({
      requests: texts.map((text) => ({
        model: name,
        content: { parts: [{ text }] },
        ...(dimensions !== undefined && { outputDimensionality: dimensions }),
      })),
    }),
  })
  const { embeddings } = (await reply.json()) as { embeddings: { values: number[] }[] }
  return embeddings.map(({ values }) => values.map(Math.fround))
}

function costOf(model: keyof typeof PRICES, tokens: number): bigint {
  return (BigInt(tokens) * PRICES[model] + 999_999n) / 1_000_000n
}

/** One or many texts, each long enough to cost more than a credit. */
function textsOf(count: number): string[] {
  return Array.from({ length: count }, () => `${mark()} ${'the cat sat on the mat, '.repeat(20)}`)
}

const tokensOf = (texts: readonly string[]) =>
  texts.reduce((sum, text) => sum + countTokens(text), 0)

describe('the clients that people use', () => {
  for (const model of [SMALL, GEMINI] as const) {
    test(`openai gets the vectors of ${model}, asking for base64 as it does`, async () => {
      const { key, key_id } = await customer()
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
      const input = textsOf(3)
      const reply = await client.embeddings.create({ model, input })
      const vectors = reply.data.map(({ embedding }) => embedding)
      assert.deepEqual(vectors, await standInVectors(model, input))
      assert.equal(reply.model, model)
      const { svc } = reply as typeof reply & Body
      const row = await onlyUsageOf(gateway, key_id)
      assert.equal(row.credits_used, costOf(model, reply.usage.prompt_tokens))
      assert.equal(BigInt(svc.credits_used), row.credits_used)
      assert.equal(BigInt(svc.balance_before), CREDITS)
      assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
    })

    test(`the AI SDK gets those of ${model}, asking for digits as it does`, async () => {
      const { key, account_id } = await customer()
      const provider = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key })
      const [value = '', ...values] = textsOf(4)
      const one = await embed({ model: provider.embedding(model), value, maxRetries: 0 })
      assert.deepEqual([one.embedding], await standInVectors(model, [value]))
      const many = await embedMany({ model: provider.embedding(model), values, maxRetries: 0 })
      assert.deepEqual(many.embeddings, await standInVectors(model, values))
      const spent = costOf(model, one.usage.tokens) + costOf(model, many.usage.tokens)
      assert.deepEqual(await balanceOf(gateway, account_id), {
        posted: CREDITS - spent,
        held: 0n,
      })
    })

    test(`LangChain gets those of ${model}`, async () => {
      const { key, key_id } = await customer()
      const embeddings = new OpenAIEmbeddings({
        model,
        apiKey: key,
        maxRetries: 0,
        configuration: { baseURL: `${gateway.url}/v1` },
      })
      const texts = textsOf(3)
      assert.deepEqual(await embeddings.embedDocuments(texts), await standInVectors(model, texts))
      const [text = ''] = texts
      assert.deepEqual([await embeddings.embedQuery(text)], await standInVectors(model, [text]))
      assert.equal((await usageOf(gateway, key_id)).length, 2)
    })
  }
})

test('a text whose tokens the provider does not count is charged by a close estimate, within what is held', async () => {
  for (const model of [SMALL, GEMINI] as const) {
    const { post, key_id } = await customer()
    const input = [...textsOf(2), '[[sandbox:no_usage]]']
    const { usage, svc } = await bodyOf(await post({ model, input }))
    const row = await onlyUsageOf(gateway, key_id)
    assert.deepEqual([row.estimated, row.input_tokens], [true, usage.prompt_tokens])
    assert.equal(BigInt(svc.credits_used), costOf(model, usage.prompt_tokens))
    const counted = tokensOf(input)
    assert.ok(Math.abs(usage.prompt_tokens - counted) < counted / 2, `${usage.prompt_tokens}`)
  }
})

test('texts cost what the provider has counted, to the credit', async () => {
  const { post, key_id, account_id } = await customer()
  const input = textsOf(5)
  const reply = await post({ model: LARGE, input })
  assert.equal(reply.headers.get('x-svc-upstream-model'), LARGE)
  const { usage, svc, model, object, data } = await bodyOf(reply)
  const tokens = tokensOf(input)
  assert.deepEqual(usage, { prompt_tokens: tokens, total_tokens: tokens })
  assert.equal(BigInt(svc.credits_used), costOf(LARGE, tokens))
  assert.deepEqual([model, object, svc.billing_mode], [LARGE, 'list', 'developer'])
  assert.deepEqual(
    data.map(({ index }) => index),
    [0, 1, 2, 3, 4],
  )
  const row = await onlyUsageOf(gateway, key_id)
  assert.deepEqual([row.input_tokens, row.estimated, row.outcome], [tokens, false, 'complete'])
  const after = { posted: CREDITS - costOf(LARGE, tokens), held: 0n }
  assert.deepEqual(await balanceOf(gateway, account_id), after)
})

test('the receipt of a call says what its tokens cost', async () => {
  const { post, bearer } = await customer()
  const reply = await post({ model: SMALL, input: textsOf(2) })
  const { usage, svc } = await bodyOf(reply)
  const url = `/v1/generations/${reply.headers.get('x-svc-generation-id')}`
  const { endpoint, credits_used, receipt } = (
    await gateway.request({ url, headers: bearer })
  ).json<{
    endpoint: string
    credits_used: number
    receipt: { lines: { bucket: string; tokens: number; price: number }[] }
  }>()
  assert.deepEqual([endpoint, credits_used], ['/v1/embeddings', svc.credits_used])
  const [line] = receipt.lines
  assert.equal(line?.bucket, 'input')
  assert.deepEqual([line.tokens, line.price], [usage.prompt_tokens, Number(PRICES[SMALL])])
})

describe('a request', () => {
  test('may send token ids, which OpenAI’s models read and Google’s do not', async () => {
    const { post } = await customer()
    const { usage, data } = await bodyOf(await post({ model: SMALL, input: [[1, 2, 3], [4]] }))
    assert.equal(usage.prompt_tokens, 4)
    assert.equal(data.length, 2)
    const { status } = await post({ model: GEMINI, input: [[1, 2, 3], [4]] })
    assert.equal(status, 400)
  })

  test('may ask for shorter vectors, and gets them in either form from either provider', async () => {
    const { post } = await customer()
    const input = textsOf(2)
    for (const model of [SMALL, GEMINI]) {
      const expected = await standInVectors(model, input, 256)
      const ask = { model, input, dimensions: 256 }
      const digits = await bodyOf(await post(ask))
      assert.deepEqual(
        digits.data.map(({ embedding }) => embedding),
        expected,
      )
      const packed = await bodyOf(await post({ ...ask, encoding_format: 'base64' }))
      const vectors = packed.data.map(({ embedding }) => {
        assert.ok(typeof embedding === 'string')
        const bytes = Buffer.from(embedding, 'base64')
        return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
      })
      assert.deepEqual(vectors, expected)
    }
  })

  test('names what was ignored, keeps the caller’s user to itself, and knows its model by other names', async () => {
    const { post, key_id } = await customer()
    const [input = ''] = textsOf(1)
    const ask = { model: `openai/${SMALL}`, input, user: 'ada@example.com', input_type: 'query' }
    const reply = await post(ask)
    assert.equal(reply.headers.get('x-svc-ignored-fields'), 'input_type')
    assert.equal((await bodyOf(reply)).model, SMALL)
    const [sent] = upstreamCalls(gateway, input.split(' ')[0] ?? '')
    assert.deepEqual(sent?.body, { model: SMALL, input: [input], encoding_format: 'base64' })
    const [row] = await sql<{ details: unknown }>(
      gateway.database_url,
      'select details from usage_event where key_id = $1',
      [key_id],
    )
    assert.deepEqual(row?.details, { ignored_fields: ['input_type'] })
  })

  test('of more texts than Google takes at once is asked in parts and answered whole', async () => {
    const { post, key_id } = await customer()
    const marker = mark()
    const input = Array.from({ length: 101 }, (_, index) => `${marker} ${index}`)
    const { data, svc } = await bodyOf(await post({ model: GEMINI, input, dimensions: 128 }))
    const expected = [
      ...(await standInVectors(GEMINI, input.slice(0, 100), 128)),
      ...(await standInVectors(GEMINI, input.slice(100), 128)),
    ]
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      expected,
    )
    const row = await onlyUsageOf(gateway, key_id)
    assert.equal(BigInt(svc.credits_used), row.credits_used)
  })

  test('for megabytes of digits is answered piece by piece, and settled once', async () => {
    const { post, key_id } = await customer()
    const input = Array.from({ length: 40 }, (_, index) => `text ${index}`)
    const { data, svc } = await bodyOf(await post({ model: LARGE, input }))
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      await standInVectors(LARGE, input),
    )
    assert.equal((await onlyUsageOf(gateway, key_id)).credits_used, BigInt(svc.credits_used))
  })
})

describe('what cannot be served is refused in the envelope, and charges nothing:', () => {
  const asker = customer()
  const refusals: [what: string, body: object, status: number, code: string][] = [
    ['no input', { model: SMALL }, 400, 'bad_request'],
    ['an empty text', { model: SMALL, input: '' }, 400, 'bad_request'],
    ['an empty list', { model: SMALL, input: [] }, 400, 'bad_request'],
    ['a list of both kinds', { model: SMALL, input: ['a', 1] }, 400, 'bad_request'],
    ['2,049 texts', { model: SMALL, input: Array(2_049).fill('a') }, 400, 'bad_request'],
    ['vectors too long', { model: SMALL, input: 'a', dimensions: 5_000 }, 400, 'bad_request'],
    [
      'a form that nobody knows',
      { model: SMALL, input: 'a', encoding_format: 'hex' },
      400,
      'bad_request',
    ],
    ['a chat model', { model: 'gpt-4o', input: 'a' }, 404, 'model_not_found'],
    ['an unknown model', { model: 'text-embedding-9', input: 'a' }, 404, 'model_not_found'],
  ]
  for (const [what, body, status, code] of refusals) {
    test(what, async () => {
      const { post, account_id } = await asker
      await assertRefused(await post(body), status, code)
      assert.deepEqual(await balanceOf(gateway, account_id), { posted: CREDITS, held: 0n })
    })
  }

  test('a text that the wallet cannot pay, before the provider hears of it', async () => {
    const { post } = await customer(1n)
    const input = textsOf(40)
    await assertRefused(await post({ model: LARGE, input }), 402, 'insufficient_credits')
    assert.deepEqual(upstreamCalls(gateway, input[0]?.split(' ')[0] ?? ''), [])
  })

  test('an embedding model where a chat model belongs', async () => {
    const { post } = await customer()
    const body = { model: SMALL, messages: [{ role: 'user', content: 'Hello' }] }
    await assertRefused(await post(body, {}, '/v1/chat/completions'), 404, 'model_not_found')
  })
})

test('what a provider does not give costs nothing and is in the record', async () => {
  const { post, account_id } = await customer()
  for (const model of [SMALL, GEMINI]) {
    for (const [directive, status, code] of [
      ['429', 429, 'provider_rate_limited'],
      ['500', 503, 'provider_unavailable'],
      ['hangup', 503, 'provider_unavailable'],
      ['garbage', 502, 'upstream_error'],
    ] as const) {
      const reply = await post({ model, input: `[[sandbox:${directive}]] Hello` })
      await assertRefused(reply, status, code)
    }
  }
  assert.deepEqual(await balanceOf(gateway, account_id), { posted: CREDITS, held: 0n })
  await gateway.parts.failed_calls.flush(gateway.parts.db)
  const rows = await sql<{ endpoint: string }>(
    gateway.database_url,
    'select endpoint from failed_call where wallet_id = $1',
    [account_id],
  )
  assert.deepEqual(
    rows.map(({ endpoint }) => endpoint),
    Array(8).fill('/v1/embeddings'),
  )
})

test('an answer that lacks a vector, or has one that is none, is no answer', async () => {
  const script = await startScriptedProvider()
  const scripted = await startGateway(
    { OPENAI_BASE_URL: `${script.url}/v1` },
    { database_url: gateway.database_url },
  )
  const { account_id, newKey } = await gateway.customer(CREDITS)
  const { key, id } = await newKey()
  const post = poster(scripted.url, key)
  const entry = (embedding: unknown, index = 0) => ({ object: 'embedding', index, embedding })
  for (const data of [
    undefined,
    [],
    [entry([1, 2])],
    [entry([1, 2]), entry([1, 2])],
    [entry([1, 2]), entry('AAA', 1)],
    [entry([1, 2]), entry([1, null], 1)],
    [entry([1, 2]), entry([1, 2], 1), entry([1, 2], 2)],
  ]) {
    script.say({ bytes: jsonBody(JSON.stringify({ data, usage: { prompt_tokens: 5 } })) })
    await assertRefused(await post({ model: SMALL, input: ['a', 'b'] }), 502, 'upstream_error')
  }
  assert.deepEqual(await balanceOf(gateway, account_id), { posted: CREDITS, held: 0n })
  // One that has digits where base64 was asked for, and no count, is read all the same.
  script.say({ bytes: jsonBody(JSON.stringify({ data: [entry([0.5, -2])] })) })
  const { data, usage } = await bodyOf(await post({ model: SMALL, input: 'Hello there' }))
  assert.deepEqual(data[0]?.embedding, [0.5, -2])
  const row = await onlyUsageOf(gateway, id)
  assert.deepEqual([row.estimated, row.input_tokens], [true, usage.prompt_tokens])
  assert.ok(usage.prompt_tokens > 0)
  await scripted.close()
})

test('the same Idempotency-Key gets the same vectors and is charged once', async () => {
  const { post, key_id } = await customer()
  const ask = { model: SMALL, input: textsOf(2), dimensions: 64 }
  const headers = { 'idempotency-key': 'vectors-1' }
  const first = await post(ask, headers)
  const again = await post(ask, headers)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  const id = first.headers.get('x-svc-generation-id')
  assert.equal(again.headers.get('x-svc-generation-id'), id)
  assert.equal(await again.text(), await first.text())
  assert.equal((await usageOf(gateway, key_id)).length, 1)
  const other = await post({ ...ask, dimensions: 65 }, headers)
  assert.ok(other.status >= 400 && other.status < 500)
})

test('whoever leaves pays: the provider is at work', async () => {
  const { key, key_id, account_id } = await customer()
  const leaving = new AbortController()
  const [text = ''] = textsOf(1)
  const input = `[[sandbox:slow=1000]] ${text}`
  const asked = fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: LARGE, input }),
    signal: leaving.signal,
  })
  const marker = text.split(' ')[0] ?? ''
  await eventually('it is asked', async () => upstreamCalls(gateway, marker).length === 1)
  leaving.abort()
  await assert.rejects(asked)
  const row = await onlyUsageOf(gateway, key_id)
  const { posted, held } = await balanceOf(gateway, account_id)
  assert.deepEqual([posted, held], [CREDITS - row.credits_used, 0n])
  assert.equal(row.credits_used, costOf(LARGE, countTokens(input)))
})

test('a linked user pays with the markup, and nobody else does', async () => {
  const developer = await gateway.register()
  const user = await gateway.register()
  await grant(gateway.database_url, user.user_id, 1_000_000n)
  const app = await createOAuthApp(gateway, developer, { markup_percent: 50 })
  await connectHosted(gateway, { app, user, external_user_id: 'seat' })
  const { key } = await gateway.createKey(developer.bearer, { billing_mode: 'user' })
  const post = poster(gateway.url, key)
  const ask = { model: LARGE, input: textsOf(20), dimensions: 8 }
  const { svc, usage } = await bodyOf(await post(ask, {}, '/v1/users/seat/embeddings'))
  const cost = costOf(LARGE, usage.prompt_tokens)
  assert.equal(BigInt(svc.credits_used), cost + cost / 2n)
  assert.equal(svc.billing_mode, 'user')
  const { posted } = await balanceOf(gateway, user.user_id)
  assert.equal(posted, 1_000_000n - BigInt(svc.credits_used))
  assert.equal((await balanceOf(gateway, developer.user_id)).posted, 0n)
  const stranger = await post(ask, {}, '/v1/users/nobody/embeddings')
  await assertRefused(stranger, 404, 'user_not_found')
})

test('a key that may only chat makes no vectors, and one that may only make vectors does', async () => {
  const owner = await gateway.customer(CREDITS)
  const ask = { model: SMALL, input: 'Hello', dimensions: 8 }
  const chat = await owner.newKey({ allowed_endpoints: ['/v1/chat/completions'] })
  await assertRefused(await poster(gateway.url, chat.key)(ask), 403, 'forbidden')
  const vectors = await owner.newKey({ allowed_endpoints: ['/v1/embeddings'] })
  await bodyOf(await poster(gateway.url, vectors.key)(ask))
})

test('the books are right after all this', async () => {
  await assertBooksClosed(gateway)
})

async function assertRefused(reply: Response, status: number, code: string): Promise<void> {
  const { error } = (await reply.json()) as { error: { code: string; message: string } }
  assert.deepEqual([reply.status, error.code], [status, code], JSON.stringify(error))
}
