import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { ChatModel } from '../catalog/models.ts'
import { CHAT_MODELS } from '../catalog/price-list.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import { countTokens, type Prompt, promptTokens } from './prompt-size.ts'
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

test('text that no tokenizer can shorten is held in full', () => {
  const letters = Array.from({ length: 3_000 }, (_, i) =>
    String.fromCharCode(97 + ((i * i * 7) % 26)),
  )
  assert.ok(estimateTokens(letters.join(''), 'safe') >= 3_000 * 0.55)
  // One token a character: digits and letters in turn.
  assert.ok(estimateTokens('1a'.repeat(500), 'safe') >= 1_000)
  assert.ok(estimateTokens('🦄'.repeat(100), 'safe') >= 300)
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

test('counting is linear and takes any depth', () => {
  let deep: unknown = 'x'
  for (let level = 0; level < 200_000; level++) deep = [deep]
  const prompt = promptOf('', { tools: [{ name: 'f', description: undefined, parameters: deep }] })
  assert.ok(promptTokens(prompt, GPT) > 0)
  const started = performance.now()
  estimateTokens('a'.repeat(10_000_000), 'safe')
  estimateTokens('aB1 \n你🦄.'.repeat(1_000_000), 'safe')
  assert.ok(performance.now() - started < 5_000)
})
