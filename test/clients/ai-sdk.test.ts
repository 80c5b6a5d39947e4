// The Vercel AI SDK with its default provider, `openai(name)`, which speaks the Responses API: versions 6 and 7, told
// nothing but our address and key.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import * as ai6 from 'ai'
import * as ai7 from 'ai-7'
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai-4'
import { CHAT_MODELS } from '../../src/catalog/price-list.ts'
import { CLIENT_MODELS, openClientService, SUCCEEDED } from '../support/client-service.ts'

const service = await openClientService()
const options = { baseURL: service.baseURL, apiKey: service.key }

/** What both versions have in common; the types of the later one differ where no test looks. */
type Sdk = { ai: typeof ai6; modelOf: (name: string) => ai6.LanguageModel }
const SDKS: Readonly<Record<string, Sdk>> = {
  'ai 6': { ai: ai6, modelOf: createOpenAI(options) },
  'ai 7': {
    ai: ai7 as unknown as typeof ai6,
    modelOf: createOpenAI4(options) as unknown as Sdk['modelOf'],
  },
}

const CITY = ai6.jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
})
const SURE = ai6.jsonSchema<{ sure: boolean }>({
  type: 'object',
  properties: { sure: { type: 'boolean' } },
  required: ['sure'],
  additionalProperties: false,
})

const SORRY = 'I am sorry, but I cannot help with that request.'
/** Version 7 forgets the body of an answer unless told to keep it. */
const KEEP_BODIES = { include: { responseBody: true } }
// Each model that cannot reason would be told of on every call.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

type Asked = Parameters<typeof ai6.generateText>[0]

for (const [version, { ai, modelOf }] of Object.entries(SDKS)) {
  for (const stream of [false, true]) {
    /** A stream is read to its end, and must have no part that is an error. */
    const ask = async (asked: Asked) => {
      const settings = { maxRetries: 0, ...asked }
      if (!stream) {
        const whole = await ai.generateText({ ...settings, ...KEEP_BODIES })
        const { text, finishReason, steps, usage } = whole
        const output = asked.output ? whole.output : undefined
        return { text, finishReason, steps, usage, output, bodies: steps.map(bodyOf) }
      }
      const bodies: unknown[] = []
      const streamed = ai.streamText({ ...settings, includeRawChunks: true, onError: () => {} })
      for await (const part of streamed.fullStream) {
        if (part.type === 'error') throw part.error
        if (part.type === 'raw') bodies.push(...endOf(part.rawValue))
      }
      return {
        text: await streamed.text,
        finishReason: await streamed.finishReason,
        steps: await streamed.steps,
        usage: await streamed.usage,
        output: asked.output ? await streamed.output : undefined,
        bodies,
      }
    }

    const runTools = async (asked: Asked) => {
      const cities: string[] = []
      const get_weather = ai.tool({
        description: 'The weather of a city.',
        inputSchema: CITY,
        execute: ({ city }) => {
          cities.push(city)
          return 'Sunny.'
        },
      })
      const answer = await ask({ ...asked, tools: { get_weather }, stopWhen: ai.stepCountIs(3) })
      assert.equal(answer.steps.length, 2)
      assert.match(answer.text, /^The tool answered: .*Sunny/)
      return { ...answer, cities }
    }

    for (const name of [...CLIENT_MODELS, SUCCEEDED]) {
      const model = modelOf(name)
      describe(`${version}, ${stream ? 'streamed' : 'whole'}, ${name}`, () => {
        test('answers in text, with its usage', async () => {
          const { text, finishReason, usage } = await ask({ model, prompt: '[[sandbox:echo]] Hi.' })
          assert.deepEqual([text, finishReason], ['Hi.', 'stop'])
          assert.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0)
        })

        test('answers in JSON of a schema', async () => {
          const output = ai.Output.object({ schema: SURE })
          const answer = await ask({ model, prompt: 'Are you sure?', output })
          assert.equal(typeof (answer.output as { sure: unknown }).sure, 'boolean')
        })

        test('runs a tool once, twice at a time, and after a sentence, and says what it cost', async () => {
          const before = await service.balance()
          const one = await runTools({ model, prompt: '[[sandbox:tool]] Weather?' })
          assert.equal(one.cities.length, 1)
          await service.checkMoney(one.bodies, before)
          const two = await runTools({ model, prompt: '[[sandbox:tool=2]] Weather?' })
          assert.equal(two.cities.length, 2)
          const prompt = '[[sandbox:tool]] [[sandbox:announce]] Weather?'
          const spoken = await runTools({ model, prompt })
          assert.equal(spoken.steps[0]?.text, 'I will call get_weather for that.')
        })

        test('thinks before and after a tool, with and without the store', async () => {
          for (const store of [true, false]) {
            const thinks = name !== 'gpt-4o-mini'
            const openai = { store, reasoningSummary: 'auto', forceReasoning: thinks }
            const { steps } = await runTools({
              model,
              prompt: '[[sandbox:tool]] Weather?',
              providerOptions: { openai },
            })
            assert.equal((steps[0]?.reasoningText ?? '') !== '', thinks)
            const [asked = ''] = service.asked()
            if (name !== 'gpt-4o-mini') assert.match(asked, /encrypted_content|signature/i)
          }
        })

        test('reaches its limit, and says so', async () => {
          const prompt = '[[sandbox:tokens=900]]'
          const { text, finishReason } = await ask({ model, prompt, maxOutputTokens: 300 })
          assert.equal(finishReason, 'length')
          assert.notEqual(text, '')
        })

        test('declines', async () => {
          const answered = ask({ model, prompt: '[[sandbox:refusal]]' })
          // Gemini says nothing at all, and that it is forbidden to.
          if (name.startsWith('google/')) return assert.rejects(answered, isFiltered)
          const { text, finishReason } = await answered
          assert.equal(finishReason, 'content-filter')
          assert.equal(text, name.startsWith('anthropic/') ? '' : SORRY)
        })
      })
    }
  }

  // Both refer to the first answer in the same way.
  const chatted = version === 'ai 7' ? CHAT_MODELS.map(({ name }) => name) : CLIENT_MODELS
  for (const name of chatted) {
    test(`${version}: a chat of two turns with ${name} remembers the first answer, by defaults`, async () => {
      const model = modelOf(name)
      const messages: ai6.ModelMessage[] = [{ role: 'user', content: 'Tell me something.' }]
      const first = await ai.generateText({ model, messages, maxRetries: 0 })
      messages.push(...first.response.messages, { role: 'user', content: 'And more?' })
      const second = ai.streamText({ model, messages, maxRetries: 0 })
      assert.match(await second.text, /And more\?/)
      const [asked = ''] = service.asked()
      assert.ok(asked.includes(JSON.stringify(first.text).slice(1, -1)))
    })
  }
}

function isFiltered(error: unknown): boolean {
  const { statusCode, message } = error as { statusCode?: number; message: string }
  return statusCode === 400 && message.includes('safety filter')
}

/** The body of a whole answer, as it came. */
function bodyOf({ response }: { response: { body?: unknown } }): unknown {
  return response.body
}

/** The response that a stream ends with; every other record has none of ours. */
function endOf(record: unknown): unknown[] {
  const { type, response } = record as { type?: string; response?: unknown }
  return type === 'response.completed' ? [response] : []
}
