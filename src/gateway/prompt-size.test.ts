import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import type { ChatModel } from '../catalog/models.ts'
import { CHAT_MODELS } from '../catalog/price-list.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import { countTokens, type Prompt, promptTokens } from './prompt-size.ts'
import { COUNTED_TEXTS } from './test-counted-texts.ts'
import { estimateTokens } from './token-count.ts'

/** Texts with their real count of o200k. */
const COUNTED = [
  ['Hello, world! This is a test.', 9],
  ['你好，世界', 3],
  ['Grüße aus München', 5],
] as const

const ENGLISH =
  'The quick brown fox jumps over the lazy dog. I think we should schedule a meeting to discuss the quarterly results and plan ahead. '

function modelNamed(name: string): ChatModel {
  const model = CHAT_MODELS.find((one) => one.name === name)
  assert.ok(model)
  return model
}

const GPT = modelNamed('gpt-4o')
const CLAUDE = modelNamed('anthropic/claude-sonnet-4')
const GEMINI = modelNamed('google/gemini-2.0-flash')

function promptOf(text: string, more: Partial<Prompt> = {}): Prompt {
  return { system: [], messages: [{ content: [{ kind: 'text', text }] }], tools: [], ...more }
}

function partOf(part: Prompt['system'][number], model = GPT): number {
  const empty = promptTokens(promptOf(''), model)
  return promptTokens(promptOf('', { system: [part] }), model) - empty
}

test('a neutral chat request is a prompt as it is', () => {
  const measure: (request: ChatRequest) => number = (request) => promptTokens(request, GPT)
  assert.equal(typeof measure, 'function')
})

test('holds are never below the real count of known texts, charges are near it', () => {
  for (const [text, real] of COUNTED) {
    assert.ok(estimateTokens(text, 'safe') >= real, text)
    assert.ok(Math.abs(countTokens(text) - real) <= 2, text)
  }
  const real = 1041
  const text = ENGLISH.repeat(40)
  assert.ok(Math.abs(countTokens(text) - real) < real * 0.05)
  assert.ok(countTokens(text, CLAUDE) > countTokens(text, GPT))
  assert.ok(promptTokens(promptOf(text), GPT) > real)
  assert.ok(promptTokens(promptOf(text), GPT, 'close') < real * 1.1)
})

test('more text never counts less, and safe is never below close', () => {
  const texts = fc.string({ unit: 'binary', maxLength: 300 })
  fc.assert(
    fc.property(texts, texts, (text, more) => {
      assert.ok(estimateTokens(text, 'safe') >= estimateTokens(text, 'close'))
      assert.ok(
        promptTokens(promptOf(text), CLAUDE) <=
          promptTokens(promptOf(`${text} ${more}`), CLAUDE) + 1,
      )
    }),
  )
})

test('everything a prompt holds counts: instructions, tools, schemas, calls and results', () => {
  const text = ENGLISH
  const plain = promptTokens(promptOf('hi'), GPT)
  const said: Partial<Prompt>[] = [
    { system: [{ kind: 'text', text }] },
    { tools: [{ name: 'look_up', description: text, parameters: {} }] },
    { tools: [{ name: 'look_up', description: undefined, parameters: { description: text } }] },
    { response_format: { kind: 'json_schema', schema: { title: text } } },
    { messages: [{ content: [{ kind: 'tool_call', name: 'look_up', input: { text } }] }] },
    {
      messages: [{ content: [{ kind: 'tool_result', content: [{ kind: 'text', text }] }] }],
    },
    { messages: [{ content: [{ kind: 'redacted_thinking', data: text }] }] },
  ]
  for (const more of said) assert.ok(promptTokens(promptOf('hi', more), GPT) > plain + 20)
})

test('pictures count what the model counts for them at most, also inside tool results', () => {
  const image = {
    kind: 'image',
    source: { kind: 'url', url: 'https://example.com/a.png' },
  } as const
  assert.ok(partOf(image) >= 1_445)
  assert.ok(partOf({ ...image, detail: 'low' }) < 200)
  assert.ok(partOf(image, modelNamed('gpt-4o-mini')) >= 37_000)
  assert.ok(partOf({ kind: 'tool_result', content: [image, image] }) >= 2 * 1_445)
})

test('a file counts by its bytes, one that only the provider sees by what it can be', () => {
  const data = 'A'.repeat(4_000)
  const file = {
    kind: 'file',
    source: { kind: 'data', media_type: 'application/pdf', data },
  } as const
  assert.ok(partOf(file) >= 3_000)
  const remote = {
    kind: 'file',
    source: { kind: 'url', url: 'https://example.com/a.pdf' },
  } as const
  assert.ok(partOf(remote) > 100_000)
  const close = promptTokens(promptOf('', { system: [remote] }), GPT, 'close')
  assert.ok(close < 30_000)
})

test('no prompt counts more than the model takes', () => {
  const huge = promptOf('word '.repeat(1_000_000))
  assert.equal(promptTokens(huge, GPT), 128_000)
  assert.equal(promptTokens(huge, modelNamed('gpt-5')), 272_000)
})

test('counting takes any depth', () => {
  let deep: unknown = 'x'
  for (let level = 0; level < 200_000; level++) deep = [deep]
  const prompt = promptOf('', { tools: [{ name: 'f', description: undefined, parameters: deep }] })
  assert.ok(promptTokens(prompt, GPT) > 0)
})

test('signatures count where they are sent: as text for Google, for the thought inside for Anthropic', () => {
  // Base64 is 70 tokens for a hundred characters of it: one answer's signature was 2,400 tokens.
  const signature = randomBytes(2_600).toString('base64')
  const call = { kind: 'tool_call', name: 'look_up', input: { city: 'Paris' } } as const
  const signed = { ...call, signature }
  assert.ok(partOf(signed, GEMINI) - partOf(call, GEMINI) >= 0.7 * signature.length)
  const spoken = { kind: 'text', text: 'It rains.', signature } as const
  assert.ok(partOf(spoken, GEMINI) >= 0.7 * signature.length)
  const thought = { kind: 'thinking', text: 'Hm.', signature } as const
  assert.ok(partOf(thought, CLAUDE) >= signature.length / 4)
  assert.equal(partOf(signed, GPT), partOf(call, GPT))
})

test('a document to cite from counts the instructions for it, in any place', () => {
  const document = {
    type: 'document',
    source: {
      type: 'text',
      media_type: 'text/plain',
      data: 'The grass is green. The sky is blue.',
    },
    citations: { enabled: true },
  }
  const sizeOf = (block: Record<string, unknown>, in_result = false) => {
    const content = in_result
      ? [{ type: 'tool_result', tool_use_id: 't', content: [block] }]
      : [block, { type: 'text', text: 'What color is the grass and sky?' }]
    const body = { messages: [{ role: 'user', content }] }
    const prompt = promptOf('The grass is green. The sky is blue. What color is the grass and sky?')
    return promptTokens({ ...prompt, original: { dialect: 'anthropic', body } }, CLAUDE)
  }
  assert.ok(sizeOf(document) >= 566)
  assert.ok(sizeOf(document, true) >= 566)
  assert.ok(sizeOf({ ...document, citations: { enabled: false } }) < 150)
  const sentences = 'It is so. '.repeat(500)
  const long = { ...document, source: { ...document.source, data: sentences } }
  assert.ok(sizeOf(long) - sizeOf(document) >= 500 * 8)
})

test('a picture on Gemini counts all tiles it can be cut into and itself, in low detail too', () => {
  const source = { kind: 'url', url: 'https://example.com/a.png' } as const
  // Twelve tiles and the whole picture were 3,354.
  assert.ok(partOf({ kind: 'image', source }, GEMINI) >= 25 * 258)
  assert.ok(partOf({ kind: 'image', source, detail: 'low' }, GEMINI) >= 25 * 258)
})

test('arguments that a client has written with escapes count as many tokens as they then are', () => {
  const input = { city: '東京都千代田区' }
  // About three and a half tokens for each of \\u6771 and the like.
  const call = { kind: 'tool_call', name: 'look_up', input } as const
  assert.ok(partOf(call) >= 7 * 3.5)
})

test('older models and Claude know fewer words of other languages', () => {
  const text = 'Все люди рождаются свободными и равными в своем достоинстве и правах.'
  assert.ok(countTokens(text, modelNamed('gpt-4')) > 1.5 * countTokens(text, GPT))
  assert.equal(countTokens(text, modelNamed('gpt-4-turbo')), countTokens(text, modelNamed('gpt-4')))
  assert.ok(countTokens(text, CLAUDE) > 1.5 * countTokens(text, GPT))
})

/** A part and the tokens that it is at least, whoever counts: from published tokenizers and documentation. */
type Weighed = { part: Prompt['system'][number]; tokens: (model: ChatModel) => number }

const TOKENIZERS = { openai: 'o200k', anthropic: 'claude', google: 'gemma' } as const

function tokenizerOf(model: ChatModel) {
  return /^gpt-(4$|4-|3)/.test(model.name) ? 'cl100k' : TOKENIZERS[model.provider]
}

const weighedText: fc.Arbitrary<Weighed> = fc
  .tuple(fc.constantFrom(...COUNTED_TEXTS), fc.integer({ min: 1, max: 20 }))
  .map(([counted, times]) => ({
    part: { kind: 'text', text: `${counted.text}\n`.repeat(times) },
    tokens: (model) => counted[tokenizerOf(model)] * times,
  }))

const weighedCall: fc.Arbitrary<Weighed> = fc
  .tuple(fc.constantFrom(...COUNTED_TEXTS), fc.base64String({ minLength: 100, maxLength: 4_000 }))
  .map(([counted, signature]) => ({
    part: { kind: 'tool_call', name: 'look_up', input: { text: counted.text }, signature },
    tokens: (model) =>
      counted[tokenizerOf(model)] + (model.provider === 'google' ? 0.7 * signature.length : 0),
  }))

const weighedPicture: fc.Arbitrary<Weighed> = fc
  .constantFrom<'low' | 'high'>('low', 'high')
  .map((detail) => ({
    part: { kind: 'image', source: { kind: 'url', url: 'https://example.com/a.png' }, detail },
    tokens: ({ provider, name }) => {
      if (provider === 'google') return 13 * 258
      if (provider === 'anthropic') return 1_568
      if (detail === 'low') return name === 'gpt-4o-mini' ? 2_833 : 70
      return name === 'gpt-4o-mini' ? 2_833 + 6 * 5_667 : 765
    },
  }))

const weighedResult: fc.Arbitrary<Weighed> = fc
  .array(fc.oneof(weighedText, weighedPicture), { maxLength: 4 })
  .map((inner) => ({
    part: { kind: 'tool_result', content: inner.map(({ part }) => part) },
    tokens: (model) => inner.reduce((sum, { tokens }) => sum + tokens(model), 0),
  }))

test('a hold covers every history of texts in any script, signed calls, results and pictures', () => {
  const turn = fc.array(fc.oneof(weighedText, weighedCall, weighedPicture, weighedResult), {
    maxLength: 6,
  })
  const models = CHAT_MODELS.filter((model) => model.capabilities.images)
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 8 }), fc.constantFrom(...models), (turns, model) => {
      const parts = turns.flat()
      const real = parts.reduce((sum, { tokens }) => sum + tokens(model), 4 * turns.length)
      const prompt = {
        system: [],
        messages: turns.map((turn_parts) => ({ content: turn_parts.map(({ part }) => part) })),
        tools: [],
      }
      assert.ok(promptTokens(prompt, model) >= Math.min(real, model.context_window))
    }),
  )
})
