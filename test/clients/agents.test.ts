// OpenAI's Agents SDK as docs/responses.md sets it up: the client has our address and key, and tracing is off.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  Agent,
  type AgentOutputType,
  ModelBehaviorError,
  ModelRefusalError,
  type ModelSettings,
  type RunStreamEvent,
  run,
  setDefaultOpenAIClient,
  setTracingDisabled,
  type Tool,
  tool,
} from '@openai/agents'
import { OpenAI } from 'openai'
import { z } from 'zod'
import { CLIENT_MODELS, openClientService, SUCCEEDED } from '../support/client-service.ts'

const service = await openClientService()
const client = new OpenAI({ baseURL: service.baseURL, apiKey: service.key, maxRetries: 0 })
setDefaultOpenAIClient(client)
setTracingDisabled(true)

type Asked = {
  prompt: string
  /** None: what the SDK chooses. */
  model?: string
  settings?: ModelSettings
  outputType?: AgentOutputType
  tools?: Tool[]
}

for (const stream of [false, true]) {
  const ask = async ({ prompt, model, settings = {}, outputType = 'text', tools = [] }: Asked) => {
    const agent = new Agent({
      name: 'Helper',
      instructions: 'Be brief.',
      tools,
      modelSettings: settings,
      outputType,
      ...(model !== undefined && { model }),
    })
    if (!stream) {
      const result = await run(agent, prompt, { maxTurns: 3 })
      return { result, bodies: result.rawResponses.map(({ providerData }) => providerData) }
    }
    const bodies: unknown[] = []
    const result = await run(agent, prompt, { maxTurns: 3, stream: true })
    for await (const event of result) bodies.push(...endOf(event))
    await result.completed
    return { result, bodies }
  }

  const runTools = async (asked: Asked) => {
    const cities: string[] = []
    const get_weather = tool({
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: z.object({ city: z.string() }),
      execute: ({ city }) => {
        cities.push(city)
        return 'Sunny.'
      },
    })
    const { result, bodies } = await ask({ ...asked, tools: [get_weather] })
    assert.match(String(result.finalOutput), /^The tool answered: .*Sunny/)
    assert.equal(result.rawResponses.length, 2)
    return { cities, result, bodies }
  }

  for (const model of [...CLIENT_MODELS, SUCCEEDED, undefined]) {
    const reasons = model !== 'gpt-4o-mini'
    const chosen = model === undefined ? {} : { model }
    const name = model ?? 'the model that it chooses'
    describe(`agents, ${stream ? 'streamed' : 'whole'}, ${name}`, () => {
      test('answers in text', async () => {
        const { result } = await ask({ ...chosen, prompt: '[[sandbox:echo]] Hello there.' })
        assert.equal(result.finalOutput, 'Hello there.')
      })

      test('answers in JSON of a schema', async () => {
        const outputType = z.object({ sure: z.boolean() })
        const { result } = await ask({ ...chosen, prompt: 'Are you sure?', outputType })
        assert.equal(typeof (result.finalOutput as { sure: unknown }).sure, 'boolean')
      })

      test('runs a tool once, twice at a time, and after a sentence, and says what it cost', async () => {
        const before = await service.balance()
        const one = await runTools({ ...chosen, prompt: '[[sandbox:tool]] Weather?' })
        assert.equal(one.cities.length, 1)
        await service.checkMoney(one.bodies, before)
        const two = await runTools({ ...chosen, prompt: '[[sandbox:tool=2]] Weather?' })
        assert.equal(two.cities.length, 2)
        const prompt = '[[sandbox:tool]] [[sandbox:announce]] Weather?'
        const { result } = await runTools({ ...chosen, prompt })
        const said = result.newItems.find((item) => item.type === 'message_output_item')
        assert.equal(said?.content, 'I will call get_weather for that.')
      })

      test('thinks, runs a tool, and goes on from its thoughts without any store', async () => {
        const { result } = await runTools({
          ...chosen,
          prompt: '[[sandbox:tool]] Weather?',
          settings: {
            store: false,
            reasoning: { summary: 'auto', ...(reasons && { effort: 'low' }) },
            providerData: { include: ['reasoning.encrypted_content'] },
          },
        })
        const thought = result.newItems.some((item) => item.type === 'reasoning_item')
        assert.equal(thought, reasons)
        if (reasons) assert.match(service.asked()[0] ?? '', /encrypted_content|signature/i)
      })

      test('fails where the answer reached its limit, as with OpenAI', async () => {
        const prompt = '[[sandbox:tokens=900]]'
        const answered = ask({ ...chosen, prompt, settings: { maxTokens: 300 } })
        await assert.rejects(answered, isIncomplete)
      })

      test('declines', async () => {
        const answered = ask({ ...chosen, prompt: '[[sandbox:refusal]]' })
        // Claude and Gemini have no words for it: the one's answer has no end, the other has no answer.
        if (name.startsWith('anthropic/')) return assert.rejects(answered, isIncomplete)
        if (name.startsWith('google/')) return assert.rejects(answered, /safety filter/)
        await assert.rejects(answered, ModelRefusalError)
      })
    })
  }
}

function isIncomplete(error: unknown): boolean {
  return error instanceof ModelBehaviorError && error.message.includes('response.incomplete')
}

/** The response that a stream of OpenAI's ends with, as it came. */
function endOf(event: RunStreamEvent): unknown[] {
  if (event.type !== 'raw_model_stream_event' || event.data.type !== 'model') return []
  const { type, response } = event.data.event as { type?: string; response?: unknown }
  return type === 'response.completed' ? [response] : []
}
