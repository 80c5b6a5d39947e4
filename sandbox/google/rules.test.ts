// The rules of Gemini models that a client meets late: signatures, pictures, what goes with what.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listOf } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import { dig, digNumber, digText, get, post, readEvents } from '../test-client.ts'

const KEY = { 'x-goog-api-key': 'AIza-test' }
const THREE = ['gemini-3.1-pro-preview', 'gemini-3.6-flash', 'gemini-3.1-flash-lite']
const BEFORE_THREE = ['gemini-2.0-flash', 'gemini-2.5-flash', 'gemini-2.5-pro']
const TOOLS = [{ functionDeclarations: [{ name: 'get_weather' }] }]
const PARTS = 'candidates.0.content.parts'
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function generate(model: string, body: object) {
  return await post(`${sandbox.urls.google}/v1beta/models/${model}:generateContent`, KEY, body)
}

async function stream(model: string, body: object): Promise<readonly unknown[]> {
  const url = `${sandbox.urls.google}/v1beta/models/${model}:streamGenerateContent?alt=sse`
  const { text } = await post(url, KEY, body)
  return readEvents(text).map((event) => event.body)
}

function user(text: string) {
  return { role: 'user', parts: [{ text }] }
}

function ask(text: string, more: object = {}) {
  return { contents: [user(text)], ...more }
}

async function refusal(model: string, body: object): Promise<string> {
  const answer = await generate(model, body)
  assert.equal(answer.status, 400, answer.text)
  assert.equal(dig(answer.body, 'error.status'), 'INVALID_ARGUMENT')
  return digText(answer.body, 'error.message')
}

/** A picture of that size, as far as anybody looks. */
function png(width: number, height: number): string {
  const bytes = Buffer.alloc(33)
  bytes.write('\x89PNG\r\n\x1a\n', 0, 'latin1')
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12, 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes.toString('base64')
}

function jpeg(width: number, height: number): string {
  const bytes = Buffer.alloc(40)
  bytes.writeUInt16BE(0xffd8, 0)
  bytes.writeUInt16BE(0xffe0, 2)
  bytes.writeUInt16BE(8, 4)
  bytes.writeUInt16BE(0xffc0, 12)
  bytes.writeUInt16BE(17, 14)
  bytes.writeUInt16BE(height, 17)
  bytes.writeUInt16BE(width, 19)
  return bytes.toString('base64')
}

async function imageTokens(model: string, data: string, more: object = {}): Promise<unknown> {
  const parts = [{ text: 'Look' }, { inlineData: { mimeType: 'image/png', data } }]
  const { body } = await generate(model, { contents: [{ parts }], ...more })
  const details = listOf(dig(body, 'usageMetadata.promptTokensDetails'))
  return dig(
    details.find((detail) => dig(detail, 'modality') === 'IMAGE'),
    'tokenCount',
  )
}

test('the successors exist and are listed', async () => {
  const { body } = await get(`${sandbox.urls.google}/v1beta/models`, KEY)
  const names = listOf(dig(body, 'models')).map((model) => dig(model, 'name'))
  for (const model of THREE) {
    assert.ok(names.includes(`models/${model}`))
    assert.equal((await generate(model, ask('Hi'))).status, 200)
  }
})

test('penalties are only for 2.0, and none is no penalty', async () => {
  for (const name of ['presencePenalty', 'frequencyPenalty']) {
    const config = { generationConfig: { [name]: 0.5 } }
    for (const model of [...THREE, 'gemini-2.5-flash', 'gemini-2.5-pro']) {
      assert.equal(await refusal(model, ask('Hi', config)), 'Penalty is not enabled for this model')
      const zero = { generationConfig: { [name]: 0 } }
      assert.equal((await generate(model, ask('Hi', zero))).status, 200)
    }
    assert.equal((await generate('gemini-2.0-flash', ask('Hi', config))).status, 200)
  }
})

test('functions and a JSON answer go together from Gemini 3 on', async () => {
  const generationConfig = {
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
  }
  const body = ask('Hi', { tools: TOOLS, generationConfig })
  for (const model of BEFORE_THREE) {
    assert.match(await refusal(model, body), /^Function calling with a response mime type/)
  }
  for (const model of THREE) {
    const answer = await generate(model, body)
    assert.deepEqual(Object.keys(JSON.parse(digText(answer.body, `${PARTS}.0.text`))), ['a'])
  }
})

test('thinking levels are for Gemini 3, and the least one not for Pro', async () => {
  const level = (thinkingLevel: string) =>
    ask('Hi', { generationConfig: { thinkingConfig: { thinkingLevel } } })
  assert.match(await refusal('gemini-2.5-flash', level('low')), /^Thinking level is not supported/)
  assert.match(await refusal('gemini-3.1-pro-preview', level('minimal')), /level MINIMAL is not/)
  assert.match(await refusal('gemini-3.6-flash', level('extreme')), /^Invalid value at/)
  assert.equal((await generate('gemini-3.6-flash', level('MINIMAL'))).status, 200)
})

test('each step of the current turn comes back with its signature, older turns need none', async () => {
  const model = 'gemini-3.6-flash'
  const asked = user('Weather? [[sandbox:tool]]')
  const { body } = await generate(model, { contents: [asked], tools: TOOLS })
  const signed = dig(body, `${PARTS}.0`)
  const bare = { functionCall: dig(signed, 'functionCall') }
  const result = {
    role: 'user',
    parts: [{ functionResponse: { name: 'get_weather', response: {} } }],
  }
  const call = (part: unknown) => ({ role: 'model', parts: [part] })
  const steps = (...parts: unknown[]) => [asked, ...parts.flatMap((part) => [call(part), result])]
  const tools = { tools: TOOLS }
  assert.equal((await generate(model, { contents: steps(signed, signed), ...tools })).status, 200)
  for (const contents of [steps(bare, signed), steps(signed, bare)]) {
    assert.match(
      await refusal(model, { contents, ...tools }),
      /^Function call is missing a thought_signature in functionCall parts\./,
    )
  }
  const later = [...steps(bare), call({ text: 'Sunny.' }), user('And now?')]
  assert.equal((await generate(model, { contents: later, ...tools })).status, 200)
  const forged = { ...bare, thoughtSignature: Buffer.from('forged').toString('base64') }
  assert.match(await refusal(model, { contents: steps(forged), ...tools }), /^Corrupted thought/)
  assert.equal(
    (await generate('gemini-2.5-flash', { contents: steps(bare), ...tools })).status,
    200,
  )
})

test('of calls in parallel only the first is signed, and that is enough', async () => {
  const model = 'gemini-3.1-pro-preview'
  const asked = user('Weather? [[sandbox:tool=2]]')
  const { body } = await generate(model, { contents: [asked], tools: TOOLS })
  const parts = listOf(dig(body, PARTS))
  assert.equal(parts.length, 2)
  assert.equal(typeof dig(parts[0], 'thoughtSignature'), 'string')
  assert.equal(dig(parts[1], 'thoughtSignature'), undefined)
  const response = { functionResponse: { name: 'get_weather', response: {} } }
  const results = { role: 'user', parts: [response, response] }
  const contents = [asked, { role: 'model', parts }, results]
  assert.equal((await generate(model, { contents, tools: TOOLS })).status, 200)
})

test('Gemini 3 signs the last words, in a stream without words', async () => {
  for (const model of THREE) {
    const { body } = await generate(model, ask('Hi'))
    const part = listOf(dig(body, PARTS)).at(-1)
    assert.equal(typeof dig(part, 'thoughtSignature'), 'string')
    assert.notEqual(dig(part, 'text'), '')
    const chunks = await stream(model, ask('Hi'))
    const last = listOf(dig(chunks.at(-1), PARTS)).at(-1)
    assert.deepEqual(last, { text: '', thoughtSignature: dig(part, 'thoughtSignature') })
  }
})

test('Gemini 2.5 signs its first words when it thinks with tools at hand', async () => {
  const model = 'gemini-2.5-flash'
  const chunks = await stream(model, ask('Hi', { tools: TOOLS }))
  assert.equal(typeof dig(chunks[0], `${PARTS}.0.thoughtSignature`), 'string')
  const { body } = await generate(model, ask('Hi', { tools: TOOLS }))
  assert.equal(typeof dig(body, `${PARTS}.0.thoughtSignature`), 'string')
  const generationConfig = { thinkingConfig: { thinkingBudget: 0 } }
  const unsigned = [ask('Hi'), ask('Hi', { tools: TOOLS, generationConfig })]
  for (const request of unsigned) {
    const answer = await generate(model, request)
    assert.equal(dig(answer.body, `${PARTS}.0.thoughtSignature`), undefined)
  }
})

test('a signature that comes back costs input, the more was thought the more', async () => {
  const cost = async (thoughts: number) => {
    const model = 'gemini-3.6-flash'
    const asked = user(`Hi [[sandbox:reasoning=${thoughts}]]`)
    const { body } = await generate(model, { contents: [asked] })
    const parts = listOf(dig(body, PARTS))
    const bare = parts.map((part) => ({ text: dig(part, 'text') }))
    const count = async (given: readonly unknown[]) => {
      const contents = [asked, { role: 'model', parts: given }, user('And?')]
      const answer = await generate(model, { contents })
      return digNumber(answer.body, 'usageMetadata.promptTokenCount')
    }
    return (await count(parts)) - (await count(bare))
  }
  assert.ok((await cost(100)) >= 100)
  assert.ok((await cost(2_000)) >= 2_000)
})

test('a large picture is counted by its tiles on 2.0', async () => {
  const model = 'gemini-2.0-flash'
  assert.equal(await imageTokens(model, png(384, 384)), 258)
  assert.equal(await imageTokens(model, png(960, 540)), 7 * 258)
  assert.equal(await imageTokens(model, png(3_072, 2_304)), 13 * 258)
  assert.equal(await imageTokens(model, jpeg(3_072, 2_304)), 13 * 258)
  assert.equal(await imageTokens(model, png(30_720, 23_040)), 13 * 258)
  assert.equal(await imageTokens('gemini-2.5-flash', png(3_072, 2_304)), 258)
})

test('from Gemini 3 on a picture costs what the resolution says', async () => {
  const model = 'gemini-3.6-flash'
  assert.equal(await imageTokens(model, png(3_072, 2_304)), 1_120)
  const generationConfig = { mediaResolution: 'MEDIA_RESOLUTION_LOW' }
  assert.equal(await imageTokens(model, png(3_072, 2_304), { generationConfig }), 280)
})

test('sound is counted apart, at 32 tokens a second', async () => {
  const seconds = 10
  const data = Buffer.alloc(16_000 * seconds).toString('base64')
  const parts = [{ text: 'Listen' }, { inlineData: { mimeType: 'audio/mp3', data } }]
  for (const model of [...BEFORE_THREE, ...THREE]) {
    const { body } = await generate(model, { contents: [{ parts }] })
    const details = listOf(dig(body, 'usageMetadata.promptTokensDetails'))
    const audio = details.find((detail) => dig(detail, 'modality') === 'AUDIO')
    assert.equal(dig(audio, 'tokenCount'), 32 * seconds)
  }
})

test('a reason to stop that nobody has heard of comes without content', async () => {
  const { body } = await generate('gemini-2.5-flash', ask('Hi [[sandbox:finish=NEW_REASON]]'))
  assert.equal(dig(body, 'candidates.0.finishReason'), 'NEW_REASON')
  assert.equal(dig(body, 'candidates.0.content'), undefined)
  assert.ok(digNumber(body, 'usageMetadata.promptTokenCount') > 0)
  const [only, ...others] = await stream('gemini-2.0-flash', ask('Hi [[sandbox:finish]]'))
  assert.equal(dig(only, 'candidates.0.finishReason'), 'UNHEARD_OF')
  assert.deepEqual(others, [])
})
