// OpenAI's own client, told nothing but our address and key, in the Responses API: the version of today, and the one
// before it, which most projects still have.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import type {
  FunctionTool,
  Response,
  ResponseCreateParamsBase,
  ResponseInput,
} from 'openai/resources/responses/responses'
import OpenAI6 from 'openai-6'
import { CLIENT_MODELS, openClientService, SUCCEEDED } from '../support/client-service.ts'

const service = await openClientService()
const options = { baseURL: service.baseURL, apiKey: service.key, maxRetries: 0 }
/** The older client sends and reads the same; its types differ in fields that no test reads. */
const CLIENTS: Readonly<Record<string, OpenAI>> = {
  'openai 7': new OpenAI(options),
  'openai 6': new OpenAI6(options) as unknown as OpenAI,
}

const WEATHER: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}
const FORMAT = {
  type: 'json_schema' as const,
  name: 'reply',
  strict: true,
  schema: {
    type: 'object',
    properties: { sure: { type: 'boolean' } },
    required: ['sure'],
    additionalProperties: false,
  },
}

type Asked = Omit<ResponseCreateParamsBase, 'stream'>

for (const [name, client] of Object.entries(CLIENTS)) {
  for (const stream of [false, true]) {
    /** The helper puts a stream together again, and is the strictest reader of streams. */
    const respond = (body: Asked): Promise<Response> =>
      stream ? client.responses.stream(body).finalResponse() : client.responses.create(body)

    const runTools = async (body: Omit<Asked, 'input'> & { input: ResponseInput }) => {
      const first = await respond({ ...body, tools: [WEATHER] })
      const calls = first.output.filter((item) => item.type === 'function_call')
      const results = calls.map(({ call_id, arguments: given }) => {
        assert.equal(typeof (JSON.parse(given) as { city: unknown }).city, 'string')
        return { type: 'function_call_output' as const, call_id, output: 'Sunny.' }
      })
      const input = [...body.input, ...first.output, ...results] as ResponseInput
      const second = await respond({ ...body, tools: [WEATHER], input })
      assert.match(second.output_text, /^The tool answered: .*Sunny/)
      return { first, second, calls }
    }

    for (const model of [...CLIENT_MODELS, SUCCEEDED]) {
      describe(`${name}, ${stream ? 'streamed' : 'whole'}, ${model}`, () => {
        test('answers in text and says what it cost', async () => {
          const before = await service.balance()
          const response = await respond({ model, input: '[[sandbox:echo]] Hello there.' })
          assert.deepEqual(
            [response.output_text, response.status, response.model],
            ['Hello there.', 'completed', model],
          )
          assert.ok(response.usage && response.usage.output_tokens > 0)
          await service.checkMoney([response], before)
        })

        test('answers in JSON of a schema', async () => {
          const body = { model, input: 'Are you sure?', text: { format: FORMAT } }
          const parsed = stream ? await respond(body) : await client.responses.parse(body)
          assert.equal(typeof JSON.parse(parsed.output_text).sure, 'boolean')
        })

        test('calls a tool once, twice at a time, and after a sentence, and goes on', async () => {
          const before = await service.balance()
          const one = await runTools({ model, input: say('[[sandbox:tool]] Weather?') })
          assert.equal(one.calls.length, 1)
          await service.checkMoney([one.first, one.second], before)
          const two = await runTools({ model, input: say('[[sandbox:tool=2]] Weather?') })
          assert.equal(two.calls.length, 2)
          const spoken = '[[sandbox:tool]] [[sandbox:announce]] Weather?'
          const { first } = await runTools({ model, input: say(spoken) })
          assert.equal(first.output_text, 'I will call get_weather for that.')
        })

        test('thinks, calls a tool, and goes on from its thoughts without any store', async () => {
          const { first } = await runTools({
            model,
            input: say('[[sandbox:tool]] Weather?'),
            store: false,
            include: ['reasoning.encrypted_content'],
            reasoning: { summary: 'auto', ...(model !== 'gpt-4o-mini' && { effort: 'low' }) },
          })
          const thought = first.output.find((item) => item.type === 'reasoning')
          if (model === 'gpt-4o-mini') return assert.equal(thought, undefined)
          assert.ok(thought?.summary[0]?.text)
          assert.match(thought.encrypted_content ?? '', /^svc1\./)
        })

        test('reaches its limit, and says so', async () => {
          const input = '[[sandbox:tokens=900]]'
          const response = await respond({ model, input, max_output_tokens: 300 })
          assert.equal(response.status, 'incomplete')
          assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' })
          assert.notEqual(response.output_text, '')
        })

        test('declines', async () => {
          const answered = respond({ model, input: '[[sandbox:refusal]]' })
          if (model.startsWith('google/')) return assert.rejects(answered, isFiltered)
          const { status, incomplete_details, output } = await answered
          // Claude says nothing, OpenAI's models say so in words.
          if (model.startsWith('anthropic/')) {
            assert.deepEqual([status, incomplete_details?.reason], ['incomplete', 'content_filter'])
          } else {
            const message = output.find((item) => item.type === 'message')
            assert.deepEqual([status, message?.content[0]?.type], ['completed', 'refusal'])
          }
        })
      })
    }
  }
}

function isFiltered(error: unknown): boolean {
  const { status, code } = error as { status?: number; code?: string }
  return status === 400 && code === 'content_filtered'
}

function say(content: string): ResponseInput {
  return [{ role: 'user', content }]
}
