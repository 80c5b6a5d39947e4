// What a model cannot do, and what no body may do to us.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChatMessage } from './../dialects/chat-types.ts'
import { checkCapabilities } from './capabilities.ts'
import { refuses, say, toAnthropic, toGoogle, toOpenai } from './test-body.ts'
import { MODELS, type RequestParts, testModel, testRequest } from './test-call.ts'

test('what a model cannot do is refused before any call', () => {
  const none = testModel('google', 'x', {
    images: false,
    files: false,
    tools: false,
    json_object: false,
    json_schema: false,
    reasoning: false,
  })
  const source = { kind: 'data', media_type: 'image/png', data: 'AAAA' } as const
  const with_image: ChatMessage = { role: 'user', content: [{ kind: 'image', source }] }
  const nested: ChatMessage = {
    role: 'user',
    content: [{ kind: 'tool_result', call_id: 'a', content: [{ kind: 'file', source }] }],
  }
  const audio: ChatMessage = { role: 'user', content: [{ kind: 'audio', source }] }
  const tools = [{ name: 'x', description: undefined, parameters: {} }]
  const schema = { kind: 'json_schema', name: 'x', schema: {} } as const
  const cases: [RequestParts, RegExp, openai: string, anthropic: string][] = [
    [{ messages: [with_image] }, /images/, 'messages', 'messages'],
    [{ messages: [nested] }, /files/, 'messages', 'messages'],
    [{ messages: [audio] }, /audio/, 'messages', 'messages'],
    [{ tools }, /tools/, 'tools', 'tools'],
    [
      { response_format: { kind: 'json_object' } },
      /json_object/,
      'response_format',
      'output_config.format',
    ],
    [{ response_format: schema }, /schema/, 'response_format', 'output_config.format'],
    [{ reasoning: { kind: 'budget', tokens: 2_000 } }, /reasoning/, 'reasoning_effort', 'thinking'],
  ]
  for (const [request, words, ...params] of cases) {
    for (const [index, dialect] of (['openai', 'anthropic'] as const).entries()) {
      const check = () => checkCapabilities(testRequest({ ...request, dialect }), none)
      refuses(check, words)
      assert.throws(check, { param: params[index] })
    }
  }
  checkCapabilities(testRequest({ reasoning: { kind: 'effort', effort: 'none' } }), none)
})

test("tools that only Claude knows are refused by other providers' models, by name", () => {
  const tools = [{ name: 'bash', description: undefined, parameters: {}, client_tool: 'bash_1' }]
  for (const model of [MODELS.gpt4o, MODELS.flash]) {
    refuses(() => checkCapabilities(testRequest({ tools }), model), /tools\[0\]\.type: bash_1/)
  }
  checkCapabilities(testRequest({ tools }), MODELS.sonnet)
})

test('as many turns and parts as fit into a body take no stack and little time', () => {
  const turns = Array.from({ length: 150_000 }, () => say('x'))
  const content = Array.from({ length: 300_000 }, () => ({ kind: 'text', text: 'x' }) as const)
  const messages: ChatMessage[] = [...turns, { role: 'user', content }]
  // Of the processor, not of the clock: other tests run beside this one.
  const start = process.cpuUsage()
  for (const send of [toOpenai, toAnthropic, toGoogle]) send({ messages })
  assert.ok(process.cpuUsage(start).user < 5_000_000)
})
