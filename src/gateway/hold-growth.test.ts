import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CHAT_MODELS } from '../catalog/price-list.ts'
import { anthropicDialect } from './dialects/anthropic/dialect.ts'
import { openAiDialect } from './dialects/openai/dialect.ts'
import { mayGrow } from './hold-growth.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const source = { type: 'text', media_type: 'text/plain', data: 'A fact.' }
const document = { type: 'document', source, citations: { enabled: true } }
const cited = [{ role: 'user', content: [document, { type: 'text', text: 'Why?' }] }]

function growsFor(model_name: string, fields: object, dialect = openAiDialect): boolean {
  const model = CHAT_MODELS.find(({ name }) => name === model_name)
  assert.ok(model)
  const limit = dialect === anthropicDialect && { max_tokens: 9_000 }
  const request = dialect.parse({ model: model_name, messages, ...limit, ...fields }, {})
  const spoken = { openai: 'openai', anthropic: 'anthropic', google: undefined } as const
  return mayGrow(request, model, spoken[model.provider] === dialect.name)
}

describe('a hold grows only where', () => {
  test('every token of the answer is seen as it comes', () => {
    const opus = 'anthropic/claude-opus-4'
    assert.equal(growsFor('gpt-4o', {}), true)
    assert.equal(growsFor('gpt-4o', { stream: true }), true)
    assert.equal(growsFor(opus, {}, anthropicDialect), true)
    assert.equal(growsFor('gpt-5', {}), false)
    assert.equal(growsFor('google/gemini-2.0-flash', { stream: true }), false)
    assert.equal(growsFor('gpt-4o', { stream: true, n: 2 }), false)
    const prediction = { type: 'content', content: 'x' }
    assert.equal(growsFor('gpt-4o', { stream: true, prediction }), false)
    assert.equal(growsFor(opus, { stream: true, reasoning_effort: 'low' }), false)
    for (const thinking of [{ type: 'enabled', budget_tokens: 2_000 }, { type: 'adaptive' }]) {
      assert.equal(growsFor(opus, { stream: true, thinking }, anthropicDialect), false)
    }
  })

  test('nothing that was asked for is lost when a whole answer is put together from a stream', () => {
    const opus = 'anthropic/claude-opus-4'
    for (const fields of [{ logprobs: true }, { seed: 1 }]) {
      assert.equal(growsFor('gpt-4o', fields), false)
      assert.equal(growsFor('gpt-4o', { ...fields, stream: true }), true)
    }
    assert.equal(growsFor(opus, { messages: cited }, anthropicDialect), false)
    assert.equal(growsFor(opus, { messages: cited, stream: true }, anthropicDialect), true)
    const context_management = { edits: [{ type: 'clear_tool_uses_20250919' }] }
    assert.equal(growsFor(opus, { context_management }, anthropicDialect), false)
    // Its answer is translated in any case.
    assert.equal(growsFor(opus, { seed: 1 }), true)
  })
})
