// Every failure a provider can have, in our own codes, in the envelope of the format that was asked. Which code
// and status belong to which failure is the table of the contract.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credential, openCaller, PATHS, readRefusal } from '../support/gateway-caller.ts'
import { FORMATS } from '../support/gateway-formats.ts'

const gateway = await openCaller()

const FAILURES = [
  { prompt: '401', code: 'provider_misconfigured', status: 503 },
  { prompt: '404', code: 'provider_misconfigured', status: 503 },
  { prompt: 'quota', code: 'provider_misconfigured', status: 503 },
  { prompt: '429', code: 'provider_rate_limited', status: 429 },
  { prompt: '500', code: 'provider_unavailable', status: 503 },
  { prompt: 'overloaded', code: 'provider_unavailable', status: 503 },
  { prompt: 'hangup', code: 'provider_unavailable', status: 503 },
  { prompt: 'blocked', code: 'content_filtered', status: 400 },
  { prompt: 'too_long', code: 'bad_request', status: 400 },
  { prompt: '500]] [[sandbox:garbage', code: 'provider_unavailable', status: 503 },
] as const

const FAILURES_WHOLE = [
  { prompt: 'garbage', code: 'upstream_error', status: 502 },
  { prompt: 'empty_body', code: 'upstream_error', status: 502 },
  { prompt: 'cut', code: 'provider_unavailable', status: 503 },
  { prompt: 'error_mid_stream', code: 'provider_unavailable', status: 503 },
] as const

const FAILURES_STREAMED = [
  { prompt: 'unverified', code: 'provider_misconfigured', status: 503 },
  { prompt: 'empty_body', code: 'upstream_error', status: 502 },
  { prompt: 'cut_after=0', code: 'provider_unavailable', status: 503 },
] as const

/** Nothing that the provider says about the operator's account may reach a caller. */
const SECRETS = /sandbox|api.?key|quota|billing|credit|plan|organi[sz]ation/i

for (const path of PATHS) {
  const failures = [...FAILURES, ...(path.stream ? FAILURES_STREAMED : FAILURES_WHOLE)]
  for (const { prompt, code, status } of failures) {
    test(`${path.name}: [[sandbox:${prompt}]] is ${status} ${code}, and free`, async () => {
      const refused = await gateway.refusal(path, { text: `Hello. [[sandbox:${prompt}]]` })
      assert.deepEqual([refused.status, refused.code], [status, code])
      if (code === 'provider_misconfigured') assert.doesNotMatch(refused.message, SECRETS)
      if (code === 'bad_request') assert.match(refused.hint ?? '', /[Ss]horten/)
    })
  }

  test(`${path.name}: a limited caller is told when to come back`, async () => {
    const refused = await gateway.refusal(path, { text: '[[sandbox:429=30]]' })
    assert.equal(refused.headers['retry-after'], '30')
  })
}

for (const path of PATHS) {
  test(`${path.name}: an unknown model is 404, and nobody is asked`, async () => {
    const calls = gateway.requests().length
    const refused = await gateway.refusal(path, { model: 'gpt-99', text: 'Hello.' })
    assert.deepEqual([refused.status, refused.code], [404, 'model_not_found'])
    assert.match(refused.hint ?? '', /\/v1\/models/)
    assert.equal(gateway.requests().length, calls)
  })
}

for (const format of FORMATS) {
  const url = format === 'openai' ? '/v1/chat/completions' : '/v1/messages'
  const good = {
    model: 'gpt-4o-mini',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hello.' }],
  }

  test(`${format} format: a missing or wrong key is 401`, async () => {
    for (const headers of [{}, credential(format, 'svc_key_wrong')]) {
      const response = await gateway.service.post(url, good, headers)
      const refused = readRefusal(format, response)
      assert.deepEqual([refused.status, refused.code], [401, 'invalid_api_key'])
    }
  })

  test(`${format} format: an empty wallet is 402 before any provider is asked`, async () => {
    const poor = await openCaller({ WELCOME_CREDITS: '0' })
    const calls = gateway.requests().length
    for (const stream of [false, true]) {
      const response = await poor.post(format, { ...good, stream })
      const refused = readRefusal(format, response)
      assert.deepEqual([refused.status, refused.code], [402, 'insufficient_credits'])
      assert.ok(refused.hint)
    }
    assert.equal(gateway.requests().length, calls)
  })

  const bad: Readonly<Record<string, unknown>> = {
    'no model': { ...good, model: undefined },
    'a model that is a number': { ...good, model: 4 },
    'no messages': { ...good, messages: undefined },
    'an empty list of messages': { ...good, messages: [] },
    'messages that are text': { ...good, messages: 'Hello.' },
    'a role that does not exist': { ...good, messages: [{ role: 'wizard', content: 'Hello.' }] },
    'a part that does not exist': {
      ...good,
      messages: [{ role: 'user', content: [{ type: 'smell', smell: 'roses' }] }],
    },
    'max_tokens of zero': { ...good, max_tokens: 0 },
    'max_tokens that is text': { ...good, max_tokens: 'many' },
    'stream that is text': { ...good, stream: 'yes' },
    'a temperature of nine': { ...good, temperature: 9 },
    'tools that are an object': { ...good, tools: {} },
    'a list as the body': [],
    'text that is not JSON': '{"model": ',
    'an image at a private address': {
      ...good,
      messages: [
        {
          role: 'user',
          content: [
            format === 'openai'
              ? { type: 'image_url', image_url: { url: 'http://169.254.169.254/latest' } }
              : { type: 'image', source: { type: 'url', url: 'http://169.254.169.254/latest' } },
          ],
        },
      ],
    },
    'a tool result without a call': {
      ...good,
      messages: [
        format === 'openai'
          ? { role: 'tool', tool_call_id: 'call_1', content: 'Sunny.' }
          : {
              role: 'user',
              content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'Sunny.' }],
            },
      ],
    },
  }
  for (const [name, body] of Object.entries(bad)) {
    test(`${format} format: ${name} is 400 with nothing charged and nobody asked`, async () => {
      const before = await gateway.balance()
      const calls = gateway.requests().length
      const refused = readRefusal(format, await gateway.post(format, body))
      assert.deepEqual([refused.status, refused.code], [400, 'bad_request'])
      assert.deepEqual(await gateway.balance(), before)
      assert.equal(gateway.requests().length, calls)
    })
  }
}

test('what would cost more at the provider than its tokens is refused', async () => {
  const good = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 10 }
  const claude = { ...good, model: 'anthropic/claude-sonnet-4' }
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const refused = [
    await gateway.post('openai', { ...good, web_search_options: {} }),
    await gateway.post('openai', { ...good, modalities: ['text', 'audio'] }),
    await gateway.post('openai', { ...good, audio: { format: 'mp3', voice: 'alloy' } }),
    await gateway.post('openai', { ...claude, n: 2 }),
    await gateway.post('anthropic', { ...claude, tools: [search] }),
  ]
  for (const response of refused) assert.equal(response.statusCode, 400, response.body)
})

test('a dearer tier, speed or place is never asked of a provider', async () => {
  const good = { messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 10 }
  const gpt = { ...good, model: 'gpt-4o', service_tier: 'priority', store: true }
  assert.equal((await gateway.post('openai', gpt)).statusCode, 200)
  const sent = gateway.requests().at(-1)?.body as Record<string, unknown>
  assert.equal(sent['service_tier'], 'default')
  assert.notEqual(sent['store'], true)
  const dear = { speed: 'fast', inference_geo: 'us', service_tier: 'auto' }
  const claude = { ...good, model: 'anthropic/claude-sonnet-4', ...dear }
  assert.equal((await gateway.post('anthropic', claude)).statusCode, 200)
  const kept = gateway.requests().at(-1)?.body as Record<string, unknown>
  assert.deepEqual(
    Object.keys(dear).filter((field) => field in kept),
    [],
  )
})
