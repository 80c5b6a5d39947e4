// What the OpenAPI document says of chat: the dialects read and write these bodies themselves.

import type { Documents } from '../http/access.ts'
import type { Header, Parameter, Schema } from '../http/reference/document.ts'

const CREDITS: Schema = { type: 'integer', description: 'Credits; 1,000,000 = $1.00.' }
const COUNT: Schema = { type: 'integer', minimum: 0, examples: [12] }

/** What a call cost, in every reply that costs. */
export const SVC_SCHEMA: Schema = {
  type: 'object',
  required: ['credits_used', 'balance_before', 'balance_after'],
  properties: {
    credits_used: { ...CREDITS, examples: [750] },
    balance_before: { ...CREDITS, examples: [1_000_000] },
    balance_after: { ...CREDITS, examples: [999_250] },
    billing_mode: { type: 'string', enum: ['developer', 'user'], examples: ['developer'] },
  },
}

/** Whose wallet is charged, where a key is to charge a linked user. */
export const PAYER_PARAMETERS: readonly Parameter[] = [
  {
    name: 'X-Svc-User',
    in: 'header',
    description: 'Your id of a linked user, who pays instead of you.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  {
    name: 'X-External-User-ID',
    in: 'header',
    description: 'The same, for keys with `billing_mode: user`.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
]

/** On every reply of a provider. */
export const UPSTREAM_HEADERS: Readonly<Record<string, Header>> = {
  'X-Svc-Generation-Id': {
    description: 'For GET /v1/generations/{id}: the receipt of this call.',
    schema: { type: 'string' },
  },
  'X-Svc-Upstream-Model': {
    description: 'The provider’s name of the model that answered.',
    schema: { type: 'string' },
  },
  'X-Svc-Ignored-Fields': {
    description: 'What was asked for and cannot be done, with commas; absent if nothing.',
    schema: { type: 'string' },
  },
}

const CHAT_REPLY: Schema = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'choices', 'usage', 'svc'],
  properties: {
    id: { type: 'string', examples: ['chatcmpl-9f2c'] },
    object: { type: 'string', const: 'chat.completion' },
    created: { type: 'integer', description: 'Unix seconds.', examples: [1_794_744_000] },
    model: { type: 'string', examples: ['gpt-4o-mini'] },
    choices: {
      type: 'array',
      items: {
        type: 'object',
        required: ['index', 'message', 'finish_reason'],
        properties: {
          index: { type: 'integer', examples: [0] },
          message: {
            type: 'object',
            description: 'As OpenAI documents it: `tool_calls`, `refusal` and others too.',
            required: ['role', 'content'],
            properties: {
              role: { type: 'string', const: 'assistant' },
              content: { type: ['string', 'null'], examples: ['Hello!'] },
            },
          },
          finish_reason: { type: 'string', examples: ['stop'] },
        },
      },
    },
    usage: {
      type: 'object',
      required: ['prompt_tokens', 'completion_tokens', 'total_tokens'],
      properties: { prompt_tokens: COUNT, completion_tokens: COUNT, total_tokens: COUNT },
    },
    svc: SVC_SCHEMA,
  },
}

const MESSAGE_REPLY: Schema = {
  type: 'object',
  required: ['id', 'type', 'role', 'model', 'content', 'stop_reason', 'usage', 'svc'],
  properties: {
    id: { type: 'string', examples: ['msg_01XF'] },
    type: { type: 'string', const: 'message' },
    role: { type: 'string', const: 'assistant' },
    model: { type: 'string', examples: ['anthropic/claude-sonnet-4'] },
    content: {
      type: 'array',
      items: {
        type: 'object',
        description: 'As Anthropic documents it: `tool_use`, `thinking` and other blocks too.',
        required: ['type'],
        properties: {
          type: { type: 'string', examples: ['text'] },
          text: { type: 'string', examples: ['Hello!'] },
        },
      },
    },
    stop_reason: { type: 'string', examples: ['end_turn'] },
    usage: {
      type: 'object',
      required: ['input_tokens', 'output_tokens'],
      properties: { input_tokens: COUNT, output_tokens: COUNT },
    },
    svc: SVC_SCHEMA,
  },
}

const RESPONSE_REPLY: Schema = {
  type: 'object',
  required: ['id', 'object', 'created_at', 'status', 'model', 'output', 'usage', 'svc'],
  description: 'As OpenAI documents it: `instructions`, `tools` and others are repeated too.',
  properties: {
    id: { type: 'string', examples: ['resp_5RAbW1qDz0Jc8nYt4Lk7Xs2Vp9'] },
    object: { type: 'string', const: 'response' },
    created_at: { type: 'integer', description: 'Unix seconds.', examples: [1_794_744_000] },
    status: { type: 'string', enum: ['completed', 'incomplete'], examples: ['completed'] },
    model: { type: 'string', examples: ['gpt-4o-mini'] },
    output: {
      type: 'array',
      items: {
        type: 'object',
        description: 'A `message`, `reasoning`, `function_call` or `custom_tool_call`.',
        required: ['id', 'type'],
        properties: {
          id: { type: 'string', examples: ['msg_5RAbW1qDz0Jc8nYt4Lk7Xs2Vp9'] },
          type: { type: 'string', examples: ['message'] },
        },
      },
    },
    usage: {
      type: 'object',
      required: ['input_tokens', 'output_tokens', 'total_tokens'],
      properties: { input_tokens: COUNT, output_tokens: COUNT, total_tokens: COUNT },
    },
    svc: SVC_SCHEMA,
  },
}

const RESPONSE_STREAM = `event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_5RAbW1qDz0Jc8nYt4Lk7Xs2Vp9","output_index":0,"content_index":0,"delta":"Hello!","logprobs":[]}

event: response.completed
data: {"type":"response.completed","sequence_number":8,"response":{"id":"resp_5RAbW1qDz0Jc8nYt4Lk7Xs2Vp9","object":"response","status":"completed","svc":{"credits_used":750,"balance_before":1000000,"balance_after":999250,"billing_mode":"developer"}}}

`

const CHAT_STREAM = `data: {"id":"chatcmpl-9f2c","object":"chat.completion.chunk","created":1794744000,"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":"Hello!"},"finish_reason":null}]}

data: [DONE]

data: {"choices":[],"svc":{"credits_used":750,"balance_before":1000000,"balance_after":999250}}

`

const MESSAGE_STREAM = `event: message_start
data: {"type":"message_start","message":{"id":"msg_01XF","type":"message","role":"assistant","content":[]}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello!"}}

event: message_stop
data: {"type":"message_stop"}

event: svc_usage
data: {"type":"ping","credits_used":750,"balance_before":1000000,"balance_after":999250}

`

export function eventStream(description: string, example: string) {
  return { schema: { type: 'string', description }, example }
}

const SHARED = { parameters: PAYER_PARAMETERS, reply_headers: UPSTREAM_HEADERS }

export const CHAT_DOCUMENTS: Documents = {
  ...SHARED,
  reply: {
    'application/json': { schema: CHAT_REPLY },
    'text/event-stream': eventStream(
      'With `stream: true`: chunks, `[DONE]`, and one line more with `svc`.',
      CHAT_STREAM,
    ),
  },
}

export const MESSAGES_DOCUMENTS: Documents = {
  ...SHARED,
  reply: {
    'application/json': { schema: MESSAGE_REPLY },
    'text/event-stream': eventStream(
      'With `stream: true`: Anthropic’s events, and `svc_usage` as the last one.',
      MESSAGE_STREAM,
    ),
  },
}

export const RESPONSES_DOCUMENTS: Documents = {
  ...SHARED,
  reply: {
    'application/json': { schema: RESPONSE_REPLY },
    'text/event-stream': eventStream(
      'With `stream: true`: OpenAI’s events; the last one’s `response` carries `svc`.',
      RESPONSE_STREAM,
    ),
  },
}
