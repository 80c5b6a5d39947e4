// A provider that fails: before any output nothing is charged, after it what was delivered is, and the reply
// says in the client's own format what went wrong.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { countTokens } from '../../sandbox/tokens.ts'
import { sweepHolds } from '../../src/wallet/sweeper.ts'
import {
  assertBooksClosed,
  balanceOf,
  chat,
  codeOf,
  costOf,
  DIALECTS,
  type DialectName,
  type ModelName,
  mark,
  onlyUsageOf,
  openChat,
  PROVIDER_MODELS,
  promptTokensOf,
  readReply,
  recordsOf,
  saidIn,
  startGateway,
  svcOf,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { eventStream, jsonBody, startScriptedProvider } from '../support/scripted-provider.ts'

const LIMITS = { PROVIDER_TIMEOUT_MS: '800', PROVIDER_IDLE_TIMEOUT_MS: '800' }
const gateway = await startGateway(LIMITS)
const customer = await gateway.customer(1_000_000_000n)
const scripted = await startScriptedProvider()
const broken = await startGateway(
  {
    OPENAI_BASE_URL: `${scripted.url}/v1`,
    ANTHROPIC_BASE_URL: scripted.url,
    GOOGLE_BASE_URL: scripted.url,
    ...LIMITS,
  },
  { database_url: gateway.database_url },
)

describe('a provider that fails before any output costs nothing:', () => {
  const faults: { prompt: string; code: string; status: number; only?: 'streams' | 'whole' }[] = [
    { prompt: '401', code: 'provider_misconfigured', status: 503 },
    { prompt: '404', code: 'provider_misconfigured', status: 503 },
    { prompt: '429=7', code: 'provider_rate_limited', status: 429 },
    { prompt: '500', code: 'provider_unavailable', status: 503 },
    { prompt: 'overloaded', code: 'provider_unavailable', status: 503 },
    { prompt: 'quota', code: 'provider_misconfigured', status: 503 },
    { prompt: 'blocked', code: 'content_filtered', status: 400 },
    { prompt: 'too_long', code: 'bad_request', status: 400 },
    { prompt: 'unverified', code: 'provider_misconfigured', status: 503, only: 'streams' },
    { prompt: 'hangup', code: 'provider_unavailable', status: 503 },
    { prompt: 'cut_after=0', code: 'provider_unavailable', status: 503, only: 'streams' },
    { prompt: 'cut', code: 'provider_unavailable', status: 503, only: 'whole' },
    { prompt: 'garbage', code: 'upstream_error', status: 502, only: 'whole' },
    { prompt: 'empty_body', code: 'upstream_error', status: 502 },
  ]
  for (const { prompt, code, status, only } of faults) {
    test(`${prompt} is ${status} ${code} from every provider, in both formats${only ? `, ${only}` : ''}`, async () => {
      const before = await balanceOf(gateway, customer.account_id)
      const key = await customer.newKey()
      const calls = everyShape().filter(
        ({ stream }) => only === undefined || stream === (only === 'streams'),
      )
      await Promise.all(
        calls.map(async (shape) => {
          const marker = mark()
          const text = `Hello ${marker} [[sandbox:${prompt}]]`
          const reply = await chat(gateway.url, { key: key.key, prompt: text, ...shape })
          const what = `${JSON.stringify(shape)}: ${reply.text}`
          assert.deepEqual([reply.status, codeOf(reply)], [status, code], what)
          assert.equal(upstreamCalls(gateway, marker).length, 1, `asked once, ${what}`)
          if (status === 429) assert.equal(reply.headers['retry-after'], '7', what)
        }),
      )
      assert.deepEqual(await usageOf(gateway, key.id), [])
      assert.deepEqual(await balanceOf(gateway, customer.account_id), before)
    })
  }

  test('one that never begins to answer is 504 provider_timeout', async () => {
    const key = await customer.newKey()
    const asks = PROVIDER_MODELS.map((model) =>
      chat(gateway.url, { key: key.key, model, prompt: 'Hi [[sandbox:timeout]]', stream: true }),
    )
    for (const reply of await Promise.all(asks)) {
      assert.deepEqual([reply.status, codeOf(reply)], [504, 'provider_timeout'])
    }
    assert.deepEqual(await usageOf(gateway, key.id), [])
  })

  test('one that refuses the connection is 503 provider_unavailable', async () => {
    const refusing = await startGateway(
      { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' },
      { database_url: gateway.database_url },
    )
    const key = await customer.newKey()
    for (const stream of [true, false]) {
      const ask = { key: key.key, model: 'gpt-4o-mini', prompt: 'Hello', stream }
      const reply = await chat(refusing.url, ask)
      assert.deepEqual([reply.status, codeOf(reply)], [503, 'provider_unavailable'])
    }
    assert.deepEqual(await usageOf(gateway, key.id), [])
    await refusing.close()
  })

  test('bytes that are no answer are a 5xx of the provider, never a 500 of ours', async () => {
    const key = await customer.newKey()
    const garbage = [
      'SSH-2.0-OpenSSH_9.6\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\u0000\u0001\u0002',
      'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n\r\n',
      eventStream('{"broken": tru'),
      eventStream('[]', 'null', '"text"'),
      eventStream('{"choices":7,"type":3,"candidates":"x"}'),
      eventStream('{}'),
      jsonBody('null'),
      jsonBody('[1,2,3]'),
      jsonBody('{"choices":[],"content":7,"candidates":{}}'),
      jsonBody(`{"choices":${'['.repeat(20_000)}`),
    ]
    for (const bytes of garbage) {
      scripted.say({ bytes })
      for (const shape of everyShape()) {
        const reply = await chat(broken.url, { key: key.key, prompt: 'Hello', ...shape })
        const what = `${JSON.stringify(bytes.slice(0, 90))} ${JSON.stringify(shape)}: ${reply.text}`
        assert.match(codeOf(reply), /^(upstream_error|provider_unavailable)$/, what)
        if (reply.status !== 200) assert.ok([502, 503].includes(reply.status), what)
      }
    }
    assert.deepEqual(await usageOf(gateway, key.id), [])
  })
})

describe('a provider that fails in the middle is paid for what it delivered:', () => {
  type Place = { model: ModelName; kind: string; charge: 'nothing' | 'estimate' | 'exact' }
  const places: Place[] = [
    { model: 'gpt-4o-mini', kind: 'role', charge: 'nothing' },
    { model: 'gpt-4o-mini', kind: 'content', charge: 'estimate' },
    { model: 'gpt-4o-mini', kind: '5', charge: 'estimate' },
    { model: 'gpt-4o-mini', kind: 'finish', charge: 'estimate' },
    { model: 'gpt-4o-mini', kind: 'usage', charge: 'exact' },
    { model: 'anthropic/claude-haiku-3.5', kind: 'message_start', charge: 'nothing' },
    { model: 'anthropic/claude-haiku-3.5', kind: 'content_block_start', charge: 'nothing' },
    { model: 'anthropic/claude-haiku-3.5', kind: 'content_block_delta', charge: 'estimate' },
    { model: 'anthropic/claude-haiku-3.5', kind: 'content_block_stop', charge: 'estimate' },
    { model: 'anthropic/claude-haiku-3.5', kind: 'message_delta', charge: 'exact' },
    { model: 'google/gemini-2.0-flash', kind: 'text', charge: 'estimate' },
    { model: 'google/gemini-2.0-flash', kind: '3', charge: 'estimate' },
  ]
  for (const accident of ['cut_after', 'error_mid_stream', 'end_after', 'stall'] as const) {
    test(`${accident}, after each kind of event, in both formats`, async () => {
      const runs = places.flatMap((place) => DIALECTS.map((dialect) => ({ ...place, dialect })))
      await Promise.all(runs.map((run) => breakAfter(accident, run)))
    })
  }

  async function breakAfter(accident: string, run: Place & { dialect: DialectName }) {
    const { model, kind, charge, dialect } = run
    const what = `${accident}=${kind} on ${model} for ${dialect}`
    const key = await customer.newKey()
    const prompt = `Hello ${mark()} [[sandbox:tokens=60]] [[sandbox:${accident}=${kind}]]`
    const ask = { key: key.key, model, prompt, dialect, stream: true, max_tokens: 500 }
    const reply = await chat(gateway.url, ask)
    assert.ok(reply.complete, `the reply ends in good order: ${what}`)
    // Nothing but the end mark is missing: whether that is an error is a matter of taste, the charge is not.
    const is_whole = accident === 'end_after' && (charge === 'exact' || kind === 'finish')
    if (!is_whole) {
      assert.match(codeOf(reply), /^provider_(unavailable|timeout)$/, what)
      assert.equal(codeOf(reply) === 'provider_timeout', accident === 'stall', what)
    }
    if (reply.status === 200 && !is_whole) assertEndsInError(reply.text, dialect)
    if (charge === 'nothing') {
      assert.deepEqual(await usageOf(gateway, key.id), [], what)
      return
    }
    const row = await onlyUsageOf(gateway, key.id)
    const input = promptTokensOf(prompt)
    assert.equal(row.estimated, charge === 'estimate', what)
    if (charge === 'exact') {
      assert.equal(row.credits_used, costOf(model, { input, output: 60 }), what)
      return
    }
    if (!is_whole) assert.equal(row.outcome, 'failed', what)
    assert.equal(
      row.credits_used,
      costOf(model, { input: row.input_tokens, output: row.output_tokens }),
      what,
    )
    assert.ok(row.credits_used <= costOf(model, { input: 8 * input + 100, output: 500 }), what)
    // Anthropic and Google have said what the prompt was.
    if (model !== 'gpt-4o-mini') assert.equal(row.input_tokens, input, what)
    else assertNear(row.input_tokens, input, `input, ${what}`)
    assertNear(row.output_tokens, countTokens(saidIn(reply)), `output, ${what}`)
  }

  for (const [model, kind] of [
    ['gpt-4o-mini', 'done'],
    ['anthropic/claude-haiku-3.5', 'message_stop'],
    ['google/gemini-2.0-flash', 'finish'],
  ] as const) {
    test(`a cut after the ${kind} of ${model} cuts nothing: served in full, exactly charged`, async () => {
      for (const dialect of DIALECTS) {
        const key = await customer.newKey()
        const prompt = `Hello ${mark()} [[sandbox:tokens=60]] [[sandbox:cut_after=${kind}]]`
        const reply = await chat(gateway.url, {
          key: key.key,
          model,
          prompt,
          dialect,
          stream: true,
        })
        const row = await onlyUsageOf(gateway, key.id)
        assert.equal(row.estimated, false)
        assert.equal(row.credits_used, costOf(model, { input: promptTokensOf(prompt), output: 60 }))
        assert.equal(countTokens(saidIn(reply)), 60)
        // Google has no end mark: only the end of the body could have said that nothing more comes.
        if (kind !== 'finish') assert.equal(BigInt(svcOf(reply).credits_used), row.credits_used)
      }
    })
  }

  test('an unreadable event in the middle is an upstream_error, after what was delivered', async () => {
    for (const { model, dialect } of everyShape().filter(({ stream }) => stream)) {
      const key = await customer.newKey()
      const prompt = `Hello ${mark()} [[sandbox:tokens=60]] [[sandbox:garbage]]`
      const reply = await chat(gateway.url, { key: key.key, model, prompt, dialect, stream: true })
      assert.equal(codeOf(reply), 'upstream_error')
      assertEndsInError(reply.text, dialect)
      const row = await onlyUsageOf(gateway, key.id)
      assert.equal(row.estimated, true)
      assertNear(row.output_tokens, countTokens(saidIn(reply)), `${model} ${dialect}`)
    }
  })

  test('an error after work that was charged tells the official clients not to ask again', async () => {
    const answer = { candidates: [{ content: { parts: [{ text: 'Half an answer' }] } }] }
    scripted.say({ bytes: jsonBody(JSON.stringify(answer)) })
    const key = await customer.newKey()
    const ask = { key: key.key, model: 'google/gemini-2.0-flash', prompt: 'Hello' }
    const reply = await chat(broken.url, ask)
    assert.equal(reply.status, 503)
    assert.ok((await onlyUsageOf(gateway, key.id)).credits_used > 0n)
    assert.equal(reply.headers['x-should-retry'], 'false')
  })
})

describe('what a provider says about usage,', () => {
  test('if it is nothing, is estimated and flagged', async () => {
    await Promise.all(
      everyShape().map(async ({ model, dialect, stream }) => {
        const key = await customer.newKey()
        const prompt = `Hello ${mark()} [[sandbox:tokens=200]] [[sandbox:no_usage]]`
        const reply = await chat(gateway.url, { key: key.key, model, prompt, dialect, stream })
        const what = `${model} ${dialect} ${stream}`
        const row = await onlyUsageOf(gateway, key.id)
        assert.deepEqual([row.estimated, row.outcome], [true, 'complete'], what)
        assertNear(row.output_tokens, 200, `output, ${what}`)
        assertNear(row.input_tokens, promptTokensOf(prompt), `input, ${what}`)
        const tokens = { input: row.input_tokens, output: row.output_tokens }
        assert.equal(row.credits_used, costOf(model, tokens), what)
        assert.equal(BigInt(svcOf(reply).credits_used), row.credits_used, what)
      }),
    )
  })

  for (const count of ['-5', '1e400', '1e300', '9007199254740993', '"12"', '1.5', '[]', 'null']) {
    test(`if it is ${count} tokens, charges no more than the wallet has and leaves no hold`, async () => {
      const small = await gateway.customer(5_000n)
      const key = await small.newKey()
      const usage = `{"prompt_tokens":${count},"completion_tokens":${count},"total_tokens":${count}}`
      const choice = '{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}'
      scripted.say({
        bytes: eventStream(
          `{"id":"1","model":"m","choices":[${choice}]}`,
          `{"id":"1","model":"m","choices":[],"usage":${usage}}`,
          '[DONE]',
        ),
      })
      const ask = { key: key.key, model: 'gpt-4o-mini', prompt: 'Hello', max_tokens: 100 }
      const reply = await chat(broken.url, { ...ask, stream: true })
      assert.ok(reply.complete)
      const { posted, held } = await balanceOf(gateway, small.account_id)
      assert.equal(held, 0n)
      const rows = await usageOf(gateway, key.id)
      const charged = rows.reduce((sum, row) => sum + row.credits_used, 0n)
      assert.equal(posted, 5_000n - charged)
      assert.ok(posted >= 0n)
      // What is no number is no report: the estimate stands in, and a few tokens are a few credits.
      if (/^("|\[|n)/.test(count)) {
        assert.ok(rows[0]?.estimated && charged > 0n && charged < 30n, `${charged}`)
      }
    })
  }
})

describe('what is known before the provider is asked', () => {
  test('a wallet without the minimum is 402, and the provider hears nothing', async () => {
    const poor = await gateway.customer(1n)
    const empty = await gateway.customer(0n)
    for (const { account_id, newKey } of [poor, empty]) {
      const key = await newKey()
      for (const shape of everyShape()) {
        const marker = mark()
        const reply = await chat(gateway.url, {
          key: key.key,
          prompt: `Hello ${marker} `.repeat(20),
          ...shape,
          max_tokens: 1_000,
        })
        assert.deepEqual([reply.status, codeOf(reply)], [402, 'insufficient_credits'])
        assert.match(reply.text, /"hint":/)
        assert.deepEqual(upstreamCalls(gateway, marker), [])
      }
      assert.deepEqual(await usageOf(gateway, key.id), [])
      assert.equal((await balanceOf(gateway, account_id)).held, 0n)
    }
  })

  test('an unknown model is 404 in both formats, and the provider hears nothing', async () => {
    const key = await customer.newKey()
    for (const dialect of DIALECTS) {
      for (const model of [
        'gpt-99',
        'GPT-4O',
        'constructor',
        '__proto__',
        'elevenlabs/scribe_v1',
      ]) {
        const marker = mark()
        const reply = await chat(gateway.url, { key: key.key, model, prompt: marker, dialect })
        assert.deepEqual([reply.status, codeOf(reply)], [404, 'model_not_found'], reply.text)
        assert.deepEqual(upstreamCalls(gateway, marker), [])
      }
    }
    assert.deepEqual(await usageOf(gateway, key.id), [])
  })

  test('live mode without the key of a provider is 503 provider_misconfigured', async () => {
    const live = await startGateway(
      { ...LIVE_SETTINGS, OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '', GOOGLE_API_KEY: '' },
      { database_url: gateway.database_url },
    )
    const key = await customer.newKey()
    for (const shape of everyShape()) {
      const reply = await chat(live.url, { key: key.key, prompt: 'Hello', ...shape })
      assert.deepEqual([reply.status, codeOf(reply)], [503, 'provider_misconfigured'])
    }
    assert.deepEqual(await usageOf(gateway, key.id), [])
    await live.close()
  })
})

test('an answer that cannot be charged any more ends with an error that nobody repeats, and never hangs', async () => {
  for (const stream of [true, false]) {
    const dying = await startGateway({}, { database_url: gateway.database_url })
    const key = await customer.newKey()
    const prompt = `Hello ${mark()} [[sandbox:tokens=40]] [[sandbox:pace=20]] [[sandbox:slow=200]]`
    const ask = { key: key.key, model: 'gpt-4o-mini', prompt, stream }
    const request = openChat(dying.url, ask)
    const reading = readReply(request)
    await (stream ? once(request, 'response') : wait(100))
    await dying.parts.call_ledger.stop()
    const reply = await reading
    assert.ok(reply.complete)
    assert.equal(codeOf(reply), 'service_unavailable')
    if (stream) assertEndsInError(reply.text, 'openai')
    else assert.deepEqual([reply.status, reply.headers['x-should-retry']], [503, 'false'])
    assert.deepEqual(await usageOf(gateway, key.id), [])
    await dying.close()
  }
  // What a process leaves behind, another gives back.
  await sweepHolds(gateway.parts)
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))

function everyShape() {
  return PROVIDER_MODELS.flatMap((model) =>
    DIALECTS.flatMap((dialect) => [true, false].map((stream) => ({ model, dialect, stream }))),
  )
}

function assertEndsInError(text: string, dialect: DialectName): void {
  const last = recordsOf(text).at(-1)
  assert.ok(last, 'there is a last record')
  assert.equal(last.event, dialect === 'anthropic' ? 'error' : undefined)
  assert.ok('error' in JSON.parse(last.data), last.data)
  assert.doesNotMatch(text, /\[DONE\]|message_stop|svc_usage/)
}

/** Our count against the sandbox's tokens of four bytes: another tokenizer, so only the size must agree. */
function assertNear(count: number, real: number, what: string): void {
  assert.ok(
    count >= Math.floor(real * 0.4) && count <= real * 2 + 20,
    `${count} for ${real}: ${what}`,
  )
}
