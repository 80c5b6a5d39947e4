import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listOf } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import {
  dig,
  digNumber,
  digText,
  get,
  keysOf,
  LONG_TEXT,
  post,
  readEvents,
} from '../test-client.ts'

const KEY = { 'x-goog-api-key': 'AIza-test' }
const PARAMETERS = {
  type: 'OBJECT',
  properties: { city: { type: 'STRING' }, days: { type: 'INTEGER' } },
  required: ['city', 'days'],
}
const TOOLS = {
  tools: [{ functionDeclarations: [{ name: 'get_weather', parameters: PARAMETERS }] }],
}
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

function address(method: string, model: string): string {
  return `${sandbox.urls.google}/v1beta/models/${model}:${method}`
}

async function generate(
  body: object,
  model = 'gemini-2.0-flash',
  headers: Record<string, string> = KEY,
) {
  return await post(address('generateContent', model), headers, body)
}

function ask(text: string, more: object = {}) {
  return { contents: [{ role: 'user', parts: [{ text }] }], ...more }
}

async function stream(body: object, model = 'gemini-2.0-flash') {
  const answer = await post(`${address('streamGenerateContent', model)}?alt=sse`, KEY, body)
  return { ...answer, events: readEvents(answer.text) }
}

function joinTexts(bodies: readonly unknown[]): string {
  const parts = bodies.flatMap((body) => listOf(dig(body, 'candidates.0.content.parts')))
  return parts.map((part) => (dig(part, 'thought') === true ? '' : dig(part, 'text'))).join('')
}

test('a response has the documented shape, and zero counts are left out', async () => {
  const { status, headers, body } = await generate(ask('Hello'))
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'application/json; charset=UTF-8')
  assert.deepEqual(keysOf(body), ['candidates', 'usageMetadata', 'modelVersion', 'responseId'])
  assert.deepEqual(keysOf(dig(body, 'candidates.0')), ['content', 'finishReason', 'index'])
  assert.equal(dig(body, 'candidates.0.content.role'), 'model')
  assert.equal(dig(body, 'candidates.0.finishReason'), 'STOP')
  assert.equal(dig(body, 'modelVersion'), 'gemini-2.0-flash')
  const prompt = Math.ceil('user\nHello\n\n'.length / 4)
  const visible = Math.ceil(digText(body, 'candidates.0.content.parts.0.text').length / 4)
  assert.deepEqual(dig(body, 'usageMetadata'), {
    promptTokenCount: prompt,
    candidatesTokenCount: visible,
    totalTokenCount: prompt + visible,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  })
})

test('a stream is a row of responses with cumulative usage and no end mark', async () => {
  const whole = await generate(ask('Tell me [[sandbox:tokens=80]]'))
  const { headers, events, text } = await stream(ask('Tell me [[sandbox:tokens=80]]'))
  assert.match(headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.ok(text.includes('\r\n\r\n') && !text.includes('[DONE]'))
  assert.ok(events.length > 3)
  const bodies = events.map(({ body }) => body)
  assert.equal(joinTexts(bodies), dig(whole.body, 'candidates.0.content.parts.0.text'))
  const counts = bodies.map((body) => digNumber(body, 'usageMetadata.candidatesTokenCount'))
  assert.deepEqual(
    counts,
    counts.toSorted((left, right) => left - right),
  )
  assert.deepEqual(dig(bodies.at(-1), 'usageMetadata'), dig(whole.body, 'usageMetadata'))
  const reasons = bodies.map((body) => dig(body, 'candidates.0.finishReason'))
  assert.deepEqual(reasons.filter(Boolean), ['STOP'])
  assert.equal(reasons.at(-1), 'STOP')
})

test('without alt=sse a stream is one JSON array', async () => {
  const answer = await post(
    address('streamGenerateContent', 'gemini-2.0-flash'),
    KEY,
    ask('Tell me'),
  )
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  assert.ok(Array.isArray(answer.body) && answer.body.length > 1)
  const url = address('streamGenerateContent', 'gemini-2.0-flash')
  const failed = await post(url, KEY, ask('Tell me [[sandbox:error_mid_stream]]'))
  assert.equal(dig(listOf(failed.body).at(-1), 'error.code'), 503)
  const wrong = await post(address('streamGenerateContent', 'gemini-2.0-flash'), KEY, {})
  assert.equal(dig(wrong.body, '0.error.code'), 400)
})

test('thoughts are counted beside the visible text and shown only when asked', async () => {
  const { body } = await generate(ask('Think [[sandbox:tokens=40]]'), 'gemini-2.5-pro')
  const usage = dig(body, 'usageMetadata')
  assert.equal(dig(usage, 'candidatesTokenCount'), 40)
  assert.equal(dig(usage, 'thoughtsTokenCount'), 160)
  assert.equal(dig(usage, 'totalTokenCount'), digNumber(usage, 'promptTokenCount') + 200)
  assert.equal(listOf(dig(body, 'candidates.0.content.parts')).length, 1)
  const shown = await generate(
    ask('Think', { generationConfig: { thinkingConfig: { includeThoughts: true } } }),
    'gemini-2.5-pro',
  )
  assert.equal(dig(shown.body, 'candidates.0.content.parts.0.thought'), true)
  const off = { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }
  const flash = await generate(ask('Think [[sandbox:reasoning=50]]', off), 'gemini-2.5-flash')
  assert.equal(dig(flash.body, 'usageMetadata.thoughtsTokenCount'), undefined)
  const pro = await generate(ask('Think', off), 'gemini-2.5-pro')
  assert.match(digText(pro.body, 'error.message'), /only works in thinking mode/)
})

test('a small limit on a thinking model yields no text at all', async () => {
  const { body } = await generate(
    ask('Think', { generationConfig: { maxOutputTokens: 50 } }),
    'gemini-2.5-pro',
  )
  assert.equal(dig(body, 'candidates.0.finishReason'), 'MAX_TOKENS')
  assert.deepEqual(dig(body, 'candidates.0.content'), { role: 'model' })
  assert.equal(dig(body, 'usageMetadata.thoughtsTokenCount'), 50)
  assert.equal(dig(body, 'usageMetadata.candidatesTokenCount'), undefined)
})

test('limits, stops and several candidates are honoured', async () => {
  const config = { maxOutputTokens: 30, candidateCount: 2 }
  const { body } = await generate(ask('Go on [[sandbox:tokens=500]]', { generationConfig: config }))
  assert.equal(dig(body, 'candidates.1.finishReason'), 'MAX_TOKENS')
  assert.equal(dig(body, 'candidates.1.index'), 1)
  assert.equal(dig(body, 'usageMetadata.candidatesTokenCount'), 60)
  const stops = { generation_config: { stop_sequences: [' three'] } }
  const stopped = await generate(ask('one two three [[sandbox:echo]]', stops))
  assert.equal(joinTexts([stopped.body]), 'one two')
})

test('a tool call arrives whole with an object of arguments, and its response continues', async () => {
  const asked = { role: 'user', parts: [{ text: 'Weather? [[sandbox:tool]]' }] }
  const { events } = await stream({ contents: [asked], ...TOOLS })
  const calls = events.flatMap(({ body }) => {
    return listOf(dig(body, 'candidates.0.content.parts')).filter((part) =>
      dig(part, 'functionCall'),
    )
  })
  assert.equal(calls.length, 1)
  assert.deepEqual(keysOf(dig(calls[0], 'functionCall')), ['name', 'args'])
  assert.deepEqual(keysOf(dig(calls[0], 'functionCall.args')), ['city', 'days'])
  assert.equal(dig(events.at(-1)?.body, 'candidates.0.finishReason'), 'STOP')
  const said = { role: 'model', parts: calls }
  const response = { functionResponse: { name: 'get_weather', response: { output: 'Sunny' } } }
  const next = await generate({
    contents: [asked, said, { role: 'user', parts: [response] }],
    ...TOOLS,
  })
  assert.match(joinTexts([next.body]), /^The tool answered: .*Sunny/)
  const lost = await generate({ contents: [asked, said, asked], ...TOOLS })
  assert.match(digText(lost.body, 'error.message'), /number of function response parts/)
})

test('parallel calls, forced calls and forbidden calls', async () => {
  const both = await generate(ask('Both [[sandbox:tool=2]]', TOOLS))
  assert.equal(listOf(dig(both.body, 'candidates.0.content.parts')).length, 2)
  const mode = (name: string) => ({ toolConfig: { functionCallingConfig: { mode: name } } })
  const any = await generate(ask('Hi', { ...TOOLS, ...mode('ANY') }))
  assert.ok(dig(any.body, 'candidates.0.content.parts.0.functionCall'))
  const none = await generate(ask('Hi [[sandbox:tool]]', { ...TOOLS, ...mode('NONE') }))
  assert.ok(dig(none.body, 'candidates.0.content.parts.0.text'))
})

test('newer models sign their calls and want the signature back', async () => {
  const asked = { role: 'user', parts: [{ text: 'Weather? [[sandbox:tool]]' }] }
  const { body } = await generate({ contents: [asked], ...TOOLS }, 'gemini-3.1-pro-preview')
  const part = dig(body, 'candidates.0.content.parts.0')
  assert.equal(typeof dig(part, 'thoughtSignature'), 'string')
  assert.equal(typeof dig(part, 'functionCall.id'), 'string')
  const response = { functionResponse: { name: 'get_weather', response: {} } }
  const answer = async (call: unknown) => {
    const contents = [asked, { role: 'model', parts: [call] }, { role: 'user', parts: [response] }]
    return await generate({ contents, ...TOOLS }, 'gemini-3.1-pro-preview')
  }
  assert.equal((await answer(part)).status, 200)
  const bare = await answer({ functionCall: dig(part, 'functionCall') })
  assert.match(digText(bare.body, 'error.message'), /missing a thought_signature/)
  const skipped = {
    functionCall: dig(part, 'functionCall'),
    thoughtSignature: 'skip_thought_signature_validator',
  }
  assert.equal((await answer(skipped)).status, 200)
})

test('structured output fits either kind of schema', async () => {
  const config = { responseMimeType: 'application/json', responseSchema: PARAMETERS }
  const { body } = await generate(ask('Give', { generationConfig: config }))
  assert.deepEqual(keysOf(JSON.parse(joinTexts([body]))), ['city', 'days'])
  const json = {
    type: 'object',
    properties: { a: { type: ['string', 'null'] } },
    additionalProperties: false,
  }
  const other = { responseMimeType: 'application/json', responseJsonSchema: json }
  const second = await generate(ask('Give', { generationConfig: other }))
  assert.deepEqual(keysOf(JSON.parse(joinTexts([second.body]))), ['a'])
})

test('other modalities are counted apart', async () => {
  const parts = [
    { text: 'Look' },
    { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
    { inline_data: { mime_type: 'audio/mp3', data: 'A'.repeat(64_000) } },
  ]
  const { body } = await generate({ contents: [{ parts }] })
  const details = listOf(dig(body, 'usageMetadata.promptTokensDetails'))
  assert.deepEqual(details.slice(1), [
    { modality: 'IMAGE', tokenCount: 258 },
    { modality: 'AUDIO', tokenCount: 96 },
  ])
  const sum = details.reduce((total: number, detail) => total + digNumber(detail, 'tokenCount'), 0)
  assert.equal(sum, dig(body, 'usageMetadata.promptTokenCount'))
})

test('a long prompt that was sent before is partly cached on 2.5 models', async () => {
  const first = await generate(ask(`${LONG_TEXT} one`), 'gemini-2.5-flash')
  assert.equal(dig(first.body, 'usageMetadata.cachedContentTokenCount'), undefined)
  const second = await generate(ask(`${LONG_TEXT} two`), 'gemini-2.5-flash')
  const cached = digNumber(second.body, 'usageMetadata.cachedContentTokenCount')
  assert.ok(cached >= 1_024 && cached < digNumber(second.body, 'usageMetadata.promptTokenCount'))
  assert.deepEqual(dig(second.body, 'usageMetadata.cacheTokensDetails'), [
    { modality: 'TEXT', tokenCount: cached },
  ])
})

test('filtered answers stop for safety, blocked prompts have no candidates, both with status 200', async () => {
  const filtered = await generate(ask('Bad [[sandbox:content_filter]] [[sandbox:tokens=40]]'))
  assert.equal(dig(filtered.body, 'candidates.0.finishReason'), 'SAFETY')
  assert.equal(dig(filtered.body, 'usageMetadata.candidatesTokenCount'), 20)
  assert.equal(dig(filtered.body, 'candidates.0.safetyRatings.0.blocked'), true)
  const refused = await generate(ask('Bad [[sandbox:refusal]]'))
  assert.deepEqual(dig(refused.body, 'candidates.0'), {
    finishReason: 'PROHIBITED_CONTENT',
    index: 0,
  })
  const blocked = await generate(ask('Bad [[sandbox:blocked]]'))
  assert.equal(blocked.status, 200)
  assert.equal(dig(blocked.body, 'candidates'), undefined)
  assert.equal(dig(blocked.body, 'promptFeedback.blockReason'), 'PROHIBITED_CONTENT')
  assert.ok(digNumber(blocked.body, 'usageMetadata.promptTokenCount') > 0)
  const { events } = await stream(ask('Bad [[sandbox:blocked]]'))
  assert.equal(events.length, 1)
})

test('usage can be kept back', async () => {
  const { text } = await stream(ask('Hi [[sandbox:no_usage]]'))
  assert.ok(!text.includes('usageMetadata'))
})

test('tokens can be counted and models listed', async () => {
  const url = address('countTokens', 'gemini-2.5-pro')
  const counted = await post(url, KEY, ask('Hello'))
  assert.equal(dig(counted.body, 'totalTokens'), 3)
  const inner = await post(url, KEY, {
    generateContentRequest: ask('Hello', { model: 'models/gemini-2.5-pro' }),
  })
  assert.equal(dig(inner.body, 'totalTokens'), 3)
  const { body } = await get(`${sandbox.urls.google}/v1beta/models`, KEY)
  const names = listOf(dig(body, 'models')).map((model) => dig(model, 'name'))
  for (const id of ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.0-flash']) {
    assert.ok(names.includes(`models/${id}`))
  }
})

test('no key is 403, a wrong key is 400 with its reason, and the key may stand in the address', async () => {
  const missing = await generate(ask('Hi'), 'gemini-2.0-flash', {})
  assert.equal(missing.status, 403)
  assert.equal(dig(missing.body, 'error.status'), 'PERMISSION_DENIED')
  const wrong = await generate(ask('Hi'), 'gemini-2.0-flash', { 'x-goog-api-key': 'invalid' })
  assert.equal(wrong.status, 400)
  assert.equal(dig(wrong.body, 'error.status'), 'INVALID_ARGUMENT')
  assert.equal(dig(wrong.body, 'error.details.0.reason'), 'API_KEY_INVALID')
  const asked = await post(
    `${address('generateContent', 'gemini-2.0-flash')}?key=AIza`,
    {},
    ask('Hi'),
  )
  assert.equal(asked.status, 200)
})

const withConfig = (generationConfig: object) => ask('Hi', { generationConfig })
const withSchema = (parameters: object) => {
  return ask('Hi', { tools: [{ functionDeclarations: [{ name: 'f', parameters }] }] })
}
const REFUSALS: readonly [name: string, body: object, message: RegExp][] = [
  ['no contents', {}, /^\* GenerateContentRequest\.contents: contents is not specified\n$/],
  [
    'no parts',
    { contents: [{ parts: [] }] },
    /contents\[0\]\.parts: contents\.parts must not be empty/,
  ],
  [
    'an unknown field',
    ask('Hi', { messages: [] }),
    /^Invalid JSON payload received\. Unknown name "messages": Cannot find field\.$/,
  ],
  [
    'an unknown setting',
    withConfig({ max_tokens: 5 }),
    /Unknown name "max_tokens" at 'generation_config': Cannot find field/,
  ],
  [
    'an unknown role',
    { contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] },
    /^Please use a valid role: user, model\.$/,
  ],
  [
    'a schema keyword outside the subset',
    withSchema({ type: 'object', additionalProperties: false }),
    /Unknown name "additionalProperties" at 'tools\[0\]\.function_declarations\[0\]\.parameters'/,
  ],
  [
    'a nested schema keyword',
    withSchema({ type: 'object', properties: { a: { const: 1 } } }),
    /Unknown name "const" at 'tools\[0\]\.function_declarations\[0\]\.parameters\.properties\[0\]\.value'/,
  ],
  [
    'a list of types',
    withSchema({ type: ['object', 'null'] }),
    /Proto field is not repeating, cannot start list/,
  ],
  ['a high temperature', withConfig({ temperature: 3 }), /temperature must be in the range/],
  ['a limit of 0', withConfig({ maxOutputTokens: 0 }), /max_output_tokens must be positive/],
  ['six stops', withConfig({ stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] }), /must not exceed 5/],
  [
    'thinking of a model that does not',
    withConfig({ thinkingConfig: { thinkingBudget: 100 } }),
    /Thinking is not enabled for this model/,
  ],
  [
    'tools beside JSON',
    { ...withConfig({ responseMimeType: 'application/json' }), ...TOOLS },
    /Function calling with a response mime type/,
  ],
  [
    'a schema without JSON',
    withConfig({ responseSchema: PARAMETERS }),
    /only allowed with response_mime_type/,
  ],
  ['a misspelt test prompt', ask('[[sandbox:oops]]'), /knows no test prompt 'oops'/],
]

for (const [name, body, message] of REFUSALS) {
  test(`${name} is refused with the error of Google`, async () => {
    const answer = await generate(body)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(dig(answer.body, 'error.code'), 400)
    assert.equal(dig(answer.body, 'error.status'), 'INVALID_ARGUMENT')
    assert.match(digText(answer.body, 'error.message'), message)
  })
}

test('unknown models and unknown paths are not found', async () => {
  const { status, body } = await generate(ask('Hi'), 'gemini-9')
  assert.equal(status, 404)
  assert.match(
    digText(body, 'error.message'),
    /^models\/gemini-9 is not found for API version v1beta/,
  )
  assert.equal((await post(`${sandbox.urls.google}/v1beta/nowhere`, KEY, {})).status, 404)
})

const FAULTS: readonly [prompt: string, status: number, word: string][] = [
  ['401', 400, 'INVALID_ARGUMENT'],
  ['404', 404, 'NOT_FOUND'],
  ['429', 429, 'RESOURCE_EXHAUSTED'],
  ['500', 500, 'INTERNAL'],
  ['overloaded', 503, 'UNAVAILABLE'],
  ['quota', 429, 'RESOURCE_EXHAUSTED'],
  ['too_long', 400, 'INVALID_ARGUMENT'],
  ['unverified', 400, 'FAILED_PRECONDITION'],
]

for (const [prompt, status, word] of FAULTS) {
  test(`[[sandbox:${prompt}]] gives the ${status} of Google`, async () => {
    const answer = await stream(ask(`Go [[sandbox:${prompt}]]`))
    assert.equal(answer.status, status)
    assert.equal(dig(answer.body, 'error.code'), status)
    assert.equal(dig(answer.body, 'error.status'), word)
  })
}

test('a rate limit is per minute and says when to come back, a quota is per day', async () => {
  const limited = await generate(ask('Go [[sandbox:429=34]]'))
  const details = listOf(dig(limited.body, 'error.details'))
  assert.match(digText(details[0], 'violations.0.quotaId'), /PerMinute/)
  assert.equal(dig(details[2], 'retryDelay'), '34s')
  const spent = await generate(ask('Go [[sandbox:quota]]'))
  assert.match(digText(spent.body, 'error.details.0.violations.0.quotaId'), /PerDay/)
})
