// LangChain's ChatOpenAI in the Responses API, as docs/responses.md sets it up.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai'
import { z } from 'zod'
import { CLIENT_MODELS, openClientService, SUCCEEDED } from '../support/client-service.ts'

const service = await openClientService()

let last_reply = Promise.resolve('')

/** LangChain shows what it knows of a reply only. */
async function fetchAndKeep(...request: Parameters<typeof fetch>): Promise<Response> {
  const reply = await fetch(...request)
  last_reply = reply.clone().text()
  return reply
}

/** The response of the last call, whole or as its stream ended. */
async function lastBodies(): Promise<unknown[]> {
  const text = await last_reply
  if (text.startsWith('{')) return [JSON.parse(text)]
  const [, end = '{}'] = /event: response\.completed\ndata: (.*)\n/.exec(text) ?? []
  return [(JSON.parse(end) as { response: unknown }).response]
}

/** LangChain takes the Responses API unasked for the names that it knows to need it. */
function chatModel(model: string, fields: Partial<ChatOpenAIFields> = {}): ChatOpenAI {
  return new ChatOpenAI({
    model,
    useResponsesApi: true,
    apiKey: service.key,
    maxRetries: 0,
    configuration: { baseURL: service.baseURL, fetch: fetchAndKeep },
    ...fields,
  })
}

const getWeather = tool(() => 'Sunny.', {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
})

type Chat = {
  invoke: (messages: BaseMessage[]) => Promise<AIMessageChunk>
  stream: (messages: BaseMessage[]) => Promise<AsyncIterable<AIMessageChunk>>
}

for (const stream of [false, true]) {
  const ask = async (chat: Chat, messages: BaseMessage[]): Promise<AIMessageChunk> => {
    if (!stream) return chat.invoke(messages)
    let whole: AIMessageChunk | undefined
    for await (const chunk of await chat.stream(messages)) whole = whole?.concat(chunk) ?? chunk
    assert.ok(whole)
    return whole
  }

  const runTools = async (chat: ChatOpenAI, prompt: string) => {
    const calling = chat.bindTools([getWeather])
    const messages: BaseMessage[] = [new HumanMessage(prompt)]
    const first = await ask(calling, messages)
    messages.push(first)
    for (const call of first.tool_calls ?? []) {
      const result: unknown = await getWeather.invoke({ ...call, type: 'tool_call' })
      assert.ok(result instanceof ToolMessage)
      messages.push(result)
    }
    const second = await ask(calling, messages)
    assert.match(second.text, /^The tool answered: .*Sunny/)
    return { first, second, calls: first.tool_calls ?? [] }
  }

  for (const model of [...CLIENT_MODELS, SUCCEEDED]) {
    describe(`langchain, ${stream ? 'streamed' : 'whole'}, ${model}`, () => {
      test('answers in text, and the wallet pays what it says', async () => {
        const before = await service.balance()
        const answer = await ask(chatModel(model), say('[[sandbox:echo]] Hello there.'))
        assert.equal(answer.text, 'Hello there.')
        assert.match(JSON.stringify(answer.usage_metadata), /"output_tokens":[1-9]/)
        await service.checkMoney(await lastBodies(), before)
      })

      test('answers in JSON of a schema', async () => {
        const schema = z.object({ sure: z.boolean() })
        // It knows better than to ask the old models of those names for schemas.
        const method = model === SUCCEEDED ? 'functionCalling' : 'jsonSchema'
        const chat = chatModel(model).withStructuredOutput(schema, { method })
        let parsed: unknown
        // Its reader of streamed functions takes replies of chat completions only.
        if (stream && method === 'jsonSchema') {
          for await (const part of await chat.stream('Are you sure?')) parsed = part
        } else parsed = await chat.invoke('Are you sure?')
        assert.equal(typeof (parsed as { sure: unknown }).sure, 'boolean')
      })

      test('runs a tool once, twice at a time, and after a sentence', async () => {
        const one = await runTools(chatModel(model), '[[sandbox:tool]] Weather?')
        assert.equal(one.calls.length, 1)
        const two = await runTools(chatModel(model), '[[sandbox:tool=2]] Weather?')
        assert.equal(two.calls.length, 2)
        const spoken = '[[sandbox:tool]] [[sandbox:announce]] Weather?'
        const { first } = await runTools(chatModel(model), spoken)
        assert.equal(first.text, 'I will call get_weather for that.')
      })

      test('thinks, runs a tool, and goes on from its thoughts, with our store or without it', async () => {
        const effort = model === 'gpt-4o-mini' ? {} : { effort: 'low' }
        // Its own field `reasoning` is sent for the names of OpenAI's models only.
        const reasoning = { summary: 'auto', ...effort }
        const include = ['reasoning.encrypted_content']
        for (const fields of [
          { modelKwargs: { reasoning } },
          { zdrEnabled: true, modelKwargs: { reasoning, include } },
        ]) {
          await runTools(chatModel(model, fields), '[[sandbox:tool]] Weather?')
          const asked = service.asked()[0] ?? ''
          assert.equal(/encrypted_content":|signature/i.test(asked), model !== 'gpt-4o-mini')
        }
      })

      test('reaches its limit, and says so', async () => {
        const answer = await ask(
          chatModel(model, { maxTokens: 300 }),
          say('[[sandbox:tokens=900]]'),
        )
        assert.notEqual(answer.text, '')
        const { incomplete_details } = answer.response_metadata
        assert.deepEqual(incomplete_details, { reason: 'max_output_tokens' })
      })

      test('declines', async () => {
        const answered = ask(chatModel(model), say('[[sandbox:refusal]]'))
        if (model.startsWith('google/')) return assert.rejects(answered, /safety filter/)
        const { additional_kwargs, response_metadata } = await answered
        if (model.startsWith('anthropic/')) {
          const { incomplete_details } = response_metadata
          assert.deepEqual(incomplete_details, { reason: 'content_filter' })
        } else assert.match(String(additional_kwargs['refusal']), /^I am sorry/)
      })
    })
  }
}

function say(prompt: string): BaseMessage[] {
  return [new HumanMessage(prompt)]
}
