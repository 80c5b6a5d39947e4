// The Vercel AI SDK through its three kinds of provider, told nothing but our address and key. Of all clients
// it is the strictest about records it does not know.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import { createApp } from '../support/app.ts'

const MODELS = ['gpt-4o-mini', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-flash']

const service = await createApp({ settings: { WELCOME_CREDITS: '1000000000' } })
const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
const { key: apiKey } = await service.createKey((await service.register()).bearer)
const baseURL = `${address}/v1`

const openai = createOpenAI({ baseURL, apiKey })
const compatible = createOpenAICompatible({
  name: 'svc',
  baseURL,
  apiKey,
  includeUsage: true,
  supportsStructuredOutputs: true,
})
const anthropic = createAnthropic({ baseURL, apiKey })

const PROVIDERS: Readonly<Record<string, (model: string) => LanguageModel>> = {
  '@ai-sdk/openai': (model) => openai.chat(model),
  '@ai-sdk/openai-compatible': (model) => compatible.chatModel(model),
  '@ai-sdk/anthropic': (model) => anthropic(model),
}

const weather = (seen: string[]) =>
  tool({
    description: 'The weather of a city.',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }),
    execute: ({ city }) => {
      seen.push(city)
      return `Sunny in ${city}.`
    },
  })

const common = { maxRetries: 0, maxOutputTokens: 1_000 }

for (const [provider, modelOf] of Object.entries(PROVIDERS)) {
  for (const name of MODELS) {
    const model = modelOf(name)

    test(`${provider} with ${name}: generateText gives the text and its usage`, async () => {
      const result = await generateText({ ...common, model, prompt: '[[sandbox:echo]] Hello.' })
      assert.equal(result.text, 'Hello.')
      assert.equal(result.finishReason, 'stop')
      assert.ok((result.usage.inputTokens ?? 0) > 0)
      assert.ok((result.usage.outputTokens ?? 0) > 0)
    })

    test(`${provider} with ${name}: streamText ends well, with no error part`, async () => {
      const result = streamText({
        ...common,
        model,
        system: 'Be brief.',
        prompt: '[[sandbox:echo]] One two three four.',
      })
      const parts: string[] = []
      for await (const part of result.fullStream) parts.push(part.type)
      assert.ok(!parts.includes('error'), parts.join(' '))
      assert.equal(await result.text, 'One two three four.')
      assert.equal(await result.finishReason, 'stop')
      assert.ok(((await result.usage).outputTokens ?? 0) > 0)
    })

    test(`${provider} with ${name}: tools run, whole and streamed, and the model goes on`, async () => {
      const seen: string[] = []
      const options = {
        ...common,
        model,
        tools: { get_weather: weather(seen) },
        stopWhen: stepCountIs(3),
        prompt: '[[sandbox:tool=2]] Weather?',
      }
      const whole = await generateText(options)
      assert.deepEqual([whole.steps.length, whole.finishReason, seen.length], [2, 'stop', 2])
      const streamed = streamText(options)
      await streamed.consumeStream({ onError: (error) => assert.fail(String(error)) })
      assert.equal((await streamed.steps).length, 2)
      assert.equal(seen.length, 4)
      assert.notEqual(await streamed.text, '')
    })

    test(`${provider} with ${name}: provider failures are errors of their status`, async () => {
      const prompt = '[[sandbox:500]]'
      await assert.rejects(
        generateText({ ...common, model, prompt }),
        (error: unknown) => APICallError.isInstance(error) && error.statusCode === 503,
      )
      const failures: unknown[] = []
      const streamed = streamText({
        ...common,
        model,
        prompt: '[[sandbox:tokens=60]] [[sandbox:cut]]',
        onError: ({ error }) => {
          failures.push(error)
        },
      })
      let text = ''
      for await (const piece of streamed.textStream) text += piece
      assert.notEqual(text, '')
      assert.equal(failures.length, 1, 'a broken stream never looks like a whole one')
    })
  }
}

for (const [provider, modelOf] of Object.entries(PROVIDERS)) {
  for (const name of MODELS) {
    test(`${provider} with ${name}: structured output is parsed`, async () => {
      const schema = jsonSchema<{ sure: boolean }>({
        type: 'object',
        properties: { sure: { type: 'boolean' } },
        required: ['sure'],
        additionalProperties: false,
      })
      const { output } = await generateText({
        ...common,
        model: modelOf(name),
        output: Output.object({ schema }),
        prompt: 'Are you sure?',
      })
      assert.equal(typeof output.sure, 'boolean')
    })
  }
}
