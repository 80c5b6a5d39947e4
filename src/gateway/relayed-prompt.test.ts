// Whatever stands in a body that is relayed is read by the model, so it has to be held for: also where our own form of a
// request has no place for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAnthropicRequest } from './dialects/anthropic/request.ts'
import { parseOpenAiRequest } from './dialects/openai/request.ts'
import { promptTokens } from './prompt-size.ts'
import { MODELS } from './upstreams/test-call.ts'

/** Each word is a token. */
const WORDS = 4_000
const LONG = 'word '.repeat(WORDS)
const user = { role: 'user', content: 'Hi' }
const tool = (name: string, description = '') => ({
  type: 'function',
  function: { name, description, parameters: { type: 'object', properties: {} } },
})
const called = (text: string) => [
  user,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }],
  },
  { role: 'tool', tool_call_id: 'a', content: 'x' },
]

const OPENAI: Record<string, object> = {
  'a member of arguments that a later one of the same name hides': {
    messages: called(`{"a":${JSON.stringify(LONG)},"a":1}`),
  },
  'white space around arguments': { messages: called(`{${'\t\n'.repeat(WORDS)}}`) },
  'a tool that may not be called': {
    messages: [user],
    tools: [tool('f', LONG), tool('g')],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] },
    },
  },
  'the description of a schema': {
    messages: [user],
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'x', description: LONG, schema: { type: 'object' } },
    },
  },
  'the name of a speaker': { messages: [{ ...user, name: LONG }] },
  'notes on what was said': {
    messages: [user, { role: 'assistant', content: 'x', annotations: [{ title: LONG }] }, user],
  },
}

for (const [what, body] of Object.entries(OPENAI)) {
  test(`for OpenAI, ${what} is held for`, () => {
    const request = parseOpenAiRequest({ model: 'gpt-4o', ...body })
    const tokens = promptTokens(request, MODELS.gpt4o)
    assert.ok(tokens >= WORDS, String(tokens))
  })
}

const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }
const parts = { type: 'document', source: { type: 'content', content: 'x' } }
const pdf = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
}
const look = { name: 'look', input_schema: { type: 'object' } }
const ANTHROPIC: Record<string, object> = {
  'the context of a document': {
    messages: [{ ...user, content: [{ ...document, context: LONG }] }],
  },
  'the context of a PDF': { messages: [{ ...user, content: [{ ...pdf, context: LONG }] }] },
  'the title of a document in parts': {
    messages: [{ ...user, content: [{ ...parts, title: LONG }] }],
  },
  'an example in a tool': { messages: [user], tools: [{ ...look, input_examples: [{ a: LONG }] }] },
}

for (const [what, body] of Object.entries(ANTHROPIC)) {
  test(`for Claude, ${what} is held for`, () => {
    const request = parseAnthropicRequest({ model: 'x', max_tokens: 9, ...body }, {})
    const tokens = promptTokens(request, MODELS.sonnet)
    assert.ok(tokens >= WORDS, String(tokens))
  })
}
