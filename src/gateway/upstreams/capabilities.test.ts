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
  const conversation = ['messages', 'messages', 'input']
  const format = ['response_format', 'output_config.format', 'text.format']
  const thinking = ['reasoning_effort', 'thinking', 'reasoning.effort']
  const cases: [RequestParts, RegExp, string[]][] = [
    [{ messages: [with_image] }, /images/, conversation],
    [{ messages: [nested] }, /files/, conversation],
    [{ messages: [audio] }, /audio/, conversation],
    [{ tools }, /tools/, ['tools', 'tools', 'tools']],
    [{ response_format: { kind: 'json_object' } }, /json_object/, format],
    [{ response_format: schema }, /schema/, format],
    [{ reasoning: { kind: 'budget', tokens: 2_000 } }, /reasoning/, thinking],
  ]
  for (const [request, words, params] of cases) {
    for (const [index, dialect] of (['openai', 'anthropic', 'responses'] as const).entries()) {
      const check = () => checkCapabilities(testRequest({ ...request, dialect }), none)
      refuses(check, words)
      assert.throws(check, ({ param, message }) => {
        assert.equal(param, params[index])
        return dialect === 'openai' || !/response_format|messages/.test(message)
      })
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
