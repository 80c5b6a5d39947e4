// Calls for the tests of the upstreams: the same request in neutral words and in either client dialect.

import type { ChatModel } from '../../catalog/models.ts'
import { CallSignal } from '../../platform/http-call.ts'
import { anthropicDialect } from '../dialects/anthropic/dialect.ts'
import type { ChatEvent, ChatRequest, ClientDialect, Usage } from '../dialects/chat-types.ts'
import { judgeFields } from '../dialects/field-rules.ts'
import { openAiDialect } from '../dialects/openai/dialect.ts'
import type { Asked, OpenTerms, Upstream, UpstreamFrame, UpstreamReply } from './contract.ts'

type Provider = ChatModel['provider']

const ALL: ChatModel['capabilities'] = {
  images: true,
  files: true,
  audio_input: false,
  tools: true,
  json_object: true,
  json_schema: true,
  reasoning: true,
}
const PRICES = {
  input: 1n,
  cache_read: 1n,
  cache_write_5m: 1n,
  cache_write_1h: 1n,
  output: 1n,
}

export function testModel(
  provider: Provider,
  upstream_id: string,
  capabilities: Partial<ChatModel['capabilities']> = {},
): ChatModel {
  return {
    kind: 'chat',
    name: `public/${upstream_id}`,
    provider,
    upstream_id,
    prices: PRICES,
    context_window: 200_000,
    max_output_tokens: 8_000,
    capabilities: { ...ALL, ...capabilities },
    on_disconnect: 'cancel',
  }
}

export const MODELS = {
  gpt4o: testModel('openai', 'gpt-4o', { reasoning: false }),
  gpt5: testModel('openai', 'gpt-5'),
  sol: { ...testModel('openai', 'gpt-5.6-sol'), api: 'responses' as const },
  sonnet: testModel('anthropic', 'claude-sonnet-4-20250514'),
  haiku: testModel('anthropic', 'claude-3-5-haiku-20241022', { reasoning: false }),
  pro: testModel('google', 'gemini-2.5-pro'),
  flash: testModel('google', 'gemini-2.5-flash'),
  flash2: testModel('google', 'gemini-2.0-flash', { reasoning: false }),
}

export type RequestParts = Partial<ChatRequest> & { prompt?: string; dialect?: ClientDialect }

/** The body holds the prompt, the tools and what `original` adds: enough for a same-dialect call. */
export function testRequest(given: RequestParts): ChatRequest {
  const { prompt = 'Hello', dialect = 'openai', ...parts } = given
  const tools = parts.tools ?? []
  const openai = {
    model: 'public',
    messages: [{ role: 'user', content: prompt }],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, parameters }) => ({
        type: 'function',
        function: { name, parameters },
      })),
    }),
  }
  const anthropic = {
    model: 'public',
    max_tokens: 2_000,
    messages: openai.messages,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, parameters }) => ({ name, input_schema: parameters })),
    }),
  }
  const bodies = { openai, anthropic, responses: { model: 'public', input: prompt } }
  return {
    model: 'public',
    system: [],
    messages: [{ role: 'user', content: [{ kind: 'text', text: prompt }] }],
    tools: [],
    tool_choice: undefined,
    parallel_tool_calls: undefined,
    max_output_tokens: undefined,
    temperature: undefined,
    top_p: undefined,
    top_k: undefined,
    seed: undefined,
    frequency_penalty: undefined,
    presence_penalty: undefined,
    stop: [],
    reasoning: undefined,
    verbosity: undefined,
    response_format: undefined,
    n: 1,
    stream: false,
    include_usage: false,
    original: { dialect, body: bodies[dialect] },
    ...parts,
  }
}

export type TestCall = Asked & OpenTerms
export type CallParts = Partial<Omit<TestCall, 'request' | 'model'>> & { base_url: string }

export function testCall(model: ChatModel, request: ChatRequest, parts: CallParts): TestCall {
  const { base_url, ...rest } = parts
  const { dialect, body } = request.original
  const { fields } = dialect === 'openai' ? openAiDialect : anthropicDialect
  return {
    request,
    model,
    relayed: judgeFields(fields, body, model).relayed,
    max_output_tokens: 2_000,
    sends_limit: true,
    stream: request.stream,
    address: { base_url, api_key: 'sk-test' },
    end_user: undefined,
    signal: new CallSignal(),
    ...rest,
  }
}

export async function openCall(upstream: Upstream, call: TestCall): Promise<UpstreamReply> {
  return await upstream.prepare(call).open(call)
}

export type Collected = {
  request_id: string | undefined
  frames: UpstreamFrame[]
  events: ChatEvent[]
  error: unknown
  text: string
  thinking: string
  tools: { id: string; name: string; input: string }[]
  stop: string | undefined
  usage: Usage | undefined
}

/** Everything that came, also when it ended in an error. */
export async function collect(upstream: Upstream, call: TestCall): Promise<Collected> {
  const frames: UpstreamFrame[] = []
  let error: unknown
  let request_id: string | undefined
  try {
    const reply = await openCall(upstream, call)
    request_id = reply.request_id
    for await (const read of reply.frames) frames.push(...read)
  } catch (caught) {
    error = caught
  }
  return { request_id, frames, error, ...summarise(frames.flatMap((frame) => frame.events)) }
}

function summarise(events: ChatEvent[]) {
  const tools: Collected['tools'] = []
  let text = ''
  let thinking = ''
  for (const event of events) {
    if (event.kind === 'text' && event.choice === 0) text += event.text
    else if (event.kind === 'thinking') thinking += event.text
    else if (event.kind === 'tool_call') tools[event.index] = { ...event, input: '' }
    else if (event.kind === 'tool_arguments') addFragment(tools[event.index], event.fragment)
  }
  return {
    events,
    text,
    thinking,
    tools: tools.map(({ id, name, input }) => ({ id, name, input })),
    stop: events.findLast((event) => event.kind === 'stop')?.reason,
    usage: events.findLast((event) => event.kind === 'usage')?.usage,
  }
}

function addFragment(tool: Collected['tools'][number] | undefined, fragment: string): void {
  if (tool === undefined) throw new Error('arguments came before their call')
  tool.input += fragment
}
