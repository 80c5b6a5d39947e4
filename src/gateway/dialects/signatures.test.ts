// Google signs what its models said, and wants the proof back with it. Clients of both formats carry it, as their
// official SDKs put answers together.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { draftAnthropic } from '../upstreams/anthropic/request.ts'
import type { ProviderProfile } from '../upstreams/contract.ts'
import { createGoogleReader } from '../upstreams/google/frames.ts'
import { draftGoogle } from '../upstreams/google/request.ts'
import { draftOpenai } from '../upstreams/openai/request.ts'
import { MODELS, testCall } from '../upstreams/test-call.ts'
import { createToolNames } from '../upstreams/tool-names.ts'
import { anthropicDialect } from './anthropic/dialect.ts'
import type { ChatEvent, ChatRequest } from './chat-types.ts'
import type { Dialect } from './dialect.ts'
import { openAiDialect } from './openai/dialect.ts'

const created = new Date('2026-11-15T12:00:00Z')
const svc = {
  credits_used: 1n,
  balance_before: 3n,
  balance_after: 2n,
  billing_mode: 'user',
} as const
const names = createToolNames({ pattern: /^[A-Za-z_][A-Za-z0-9_-]*$/, max_length: 64 })

const CALL = { functionCall: { name: 'look', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' }
const SAID = { text: 'Let me see.', thoughtSignature: 'dGV4dA==' }

/** Chunks of Google's stream, and what has to come back in one turn. */
const ANSWERS: Readonly<Record<string, { chunks: object[][]; returned: object[] }>> = {
  'whole text': { chunks: [[SAID]], returned: [SAID] },
  'text whose signature comes last, alone': {
    chunks: [
      [{ text: 'Let me' }],
      [{ text: ' see.' }],
      [{ text: '', thoughtSignature: 'dGV4dA==' }],
    ],
    returned: [SAID],
  },
  'a thought before it': {
    chunks: [[{ text: 'Hm.', thought: true }], [SAID]],
    returned: [SAID],
  },
  'a call after it that has no signature': {
    chunks: [[SAID], [{ functionCall: CALL.functionCall }]],
    returned: [SAID, { functionCall: CALL.functionCall }],
  },
  'a call after it with its own': { chunks: [[SAID], [CALL]], returned: [SAID, CALL] },
  'a call after text that has none': {
    chunks: [[{ text: 'Let me see.' }], [CALL]],
    returned: [{ text: 'Let me see.' }, CALL],
  },
}

const KINDS: [dialect: Dialect, kind: 'whole' | 'streamed'][] = [
  [openAiDialect, 'whole'],
  [openAiDialect, 'streamed'],
  [anthropicDialect, 'whole'],
  [anthropicDialect, 'streamed'],
]

for (const [what, { chunks, returned }] of Object.entries(ANSWERS)) {
  for (const [dialect, kind] of KINDS) {
    test(`signatures of ${what} come back in the format of ${dialect.name}, ${kind}`, async () => {
      const message = await answerIn(dialect, kind, eventsOf(chunks))
      const [, turn] = contentsOf(askAgain(dialect, [message]))
      assert.deepEqual(turn, { role: 'model', parts: returned })
    })
  }
}

test("what is signed by Google is sent to no other provider's model, and neither is the reverse", async () => {
  for (const [dialect, kind] of KINDS) {
    const message = await answerIn(dialect, kind, eventsOf([[SAID], [CALL]]))
    const request = askAgain(dialect, [message])
    for (const [draft, model] of [
      [draftOpenai, MODELS.gpt4o],
      [draftAnthropic, MODELS.sonnet],
    ] as const) {
      const body = JSON.stringify(bodyOf(draft, request, model))
      assert.match(body, /Let me see/)
      assert.doesNotMatch(body, /Y2FsbA|dGV4dA|extra_content|"thinking"/)
    }
  }
  const claude = { type: 'thinking', thinking: '', signature: 'Y2xhdWRl' }
  const content = [claude, { type: 'text', text: 'Hi.' }]
  const request = askAgain(anthropicDialect, [{ role: 'assistant', content }])
  assert.deepEqual(contentsOf(request)[1], { role: 'model', parts: [{ text: 'Hi.' }] })
  assert.match(JSON.stringify(bodyOf(draftAnthropic, request, MODELS.sonnet)), /Y2xhdWRl/)
})

test('a signature that a client puts before its text, or keeps without it, is still sent', async () => {
  const message = await answerIn(anthropicDialect, 'whole', eventsOf([[SAID]]))
  const [text, proof] = message['content'] as object[]
  const partsOf = (content: unknown) =>
    (
      contentsOf(askAgain(anthropicDialect, [{ role: 'assistant', content }]))[1] as {
        parts: object
      }
    ).parts
  assert.deepEqual(partsOf([proof, text]), [SAID])
  assert.deepEqual(partsOf([proof]), [{ text: '', thoughtSignature: SAID.thoughtSignature }])
})

function eventsOf(chunks: readonly object[][]): ChatEvent[] {
  const reader = createGoogleReader(names)
  return chunks.flatMap((parts, index) => {
    const finishReason = index === chunks.length - 1 ? 'STOP' : undefined
    const chunk = { candidates: [{ content: { role: 'model', parts }, finishReason }] }
    return reader.readChunk(chunk, JSON.stringify(chunk))
  })
}

type Message = Record<string, unknown>

async function answerIn(
  dialect: Dialect,
  kind: 'whole' | 'streamed',
  events: readonly ChatEvent[],
): Promise<Message> {
  if (kind === 'whole') {
    const reply = JSON.parse(
      dialect.formatReply({ call_id: 'call', model: 'm', created, events, svc }),
    )
    return dialect.name === 'openai' ? reply.choices[0].message : messageOf(reply)
  }
  const stream = dialect.openStream({ call_id: 'call', model: 'm', created, include_usage: false })
  const text = events.map((event) => stream.write(event)).join('') + stream.finish(svc)
  const lines = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => json)
  const body = new Response(lines.filter((line) => !line?.includes('"credits_used"')).join('\n'))
    .body
  assert.ok(body)
  if (dialect.name === 'anthropic') {
    return messageOf(await MessageStream.fromReadableStream(body).finalMessage())
  }
  const completion = await ChatCompletionStream.fromReadableStream(body).finalChatCompletion()
  return JSON.parse(JSON.stringify(completion.choices[0]?.message))
}

function messageOf({ role, content }: { role: unknown; content: unknown }): Message {
  return { role, content }
}

/** The next turn of the conversation; a result for each call that was made. */
function askAgain(dialect: Dialect, answers: readonly Message[]): ChatRequest {
  const results = [...JSON.stringify(answers).matchAll(/"id":"(call_\w+)"/g)].map(([, id]) => id)
  const hello = { role: 'user', content: 'Hello' }
  const next =
    dialect.name === 'openai'
      ? results.map((tool_call_id) => ({ role: 'tool', tool_call_id, content: 'seen' }))
      : [
          {
            role: 'user',
            content: [
              ...results.map((tool_use_id) => ({
                type: 'tool_result',
                tool_use_id,
                content: 'seen',
              })),
              { type: 'text', text: 'And?' },
            ],
          },
        ]
  const messages = [hello, ...answers, ...next, hello]
  return dialect.parse({ model: 'm', max_tokens: 100, messages }, {})
}

function bodyOf(draft: ProviderProfile['draft'], request: ChatRequest, model = MODELS.flash) {
  const call = testCall(model, request, { base_url: 'http://x' })
  return draft(call, names).body(call)
}

function contentsOf(request: ChatRequest): unknown[] {
  return bodyOf(draftGoogle, request)['contents'] as unknown[]
}
