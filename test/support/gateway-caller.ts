// A caller of the gateway in either client format, whole or streamed. Every answer it gets is held against the
// price list below and against what the wallet says, whatever else a test is about.

import assert from 'node:assert/strict'
import { createApp } from './app.ts'
import { sql } from './database.ts'
import {
  type BrokenStream,
  FORMATS,
  type Format,
  type Question,
  questionBody,
  type Reply,
  readBrokenStream,
  readReply,
  readStream,
  type Tokens,
} from './gateway-formats.ts'

const PROVIDERS = ['openai', 'responses', 'anthropic', 'google'] as const
/** OpenAI has two interfaces: `responses` is the later one. */
export type Provider = (typeof PROVIDERS)[number]

/** One model of each, cheap and without surprises; the Google one and the OpenAI one of `responses` think first. */
export const MODELS: Readonly<Record<Provider, string>> = {
  openai: 'gpt-4o-mini',
  responses: 'gpt-5-mini',
  anthropic: 'anthropic/claude-sonnet-4',
  google: 'google/gemini-2.5-flash',
}

/**
 * Thousandths of a credit for a token, copied by hand from the providers' price lists: input, cache read, cache
 * write for five minutes, cache write for an hour, output.
 */
export const PRICES: Readonly<Record<string, readonly [number, number, number, number, number]>> = {
  'gpt-4o': [2_500, 1_250, 0, 0, 10_000],
  'gpt-4o-mini': [150, 75, 0, 0, 600],
  'gpt-4-turbo': [10_000, 0, 0, 0, 30_000],
  'gpt-4': [30_000, 0, 0, 0, 60_000],
  'gpt-3.5-turbo': [500, 0, 0, 0, 1_500],
  'gpt-5': [1_250, 125, 0, 0, 10_000],
  'gpt-5-mini': [250, 25, 0, 0, 2_000],
  'anthropic/claude-opus-4': [15_000, 1_500, 18_750, 30_000, 75_000],
  'anthropic/claude-sonnet-4': [3_000, 300, 3_750, 6_000, 15_000],
  'anthropic/claude-haiku-3.5': [800, 80, 1_000, 1_600, 4_000],
  'google/gemini-2.5-pro': [1_250, 125, 0, 0, 10_000],
  'google/gemini-2.5-flash': [300, 30, 0, 0, 2_500],
  'google/gemini-2.0-flash': [100, 25, 0, 0, 400],
}

export function priceOf(model: string, tokens: Tokens): number {
  const prices = PRICES[model]
  assert.ok(prices, model)
  const [input, cache_read, cache_write_5m, cache_write_1h, output] = prices
  const thousandths =
    tokens.input * input +
    tokens.cache_read * cache_read +
    tokens.cache_write_5m * cache_write_5m +
    tokens.cache_write_1h * cache_write_1h +
    tokens.output * output
  return Math.ceil(thousandths / 1_000)
}

export type Path = {
  /** For the names of tests. */
  name: string
  provider: Provider
  model: string
  format: Format
  stream: boolean
}

/** Every provider, in every client format, streamed and not. */
export const PATHS: readonly Path[] = PROVIDERS.flatMap((provider) =>
  FORMATS.flatMap((format) =>
    [false, true].map((stream) => ({
      name: `${provider} model, ${format} format, ${stream ? 'streamed' : 'whole'}`,
      provider,
      model: MODELS[provider],
      format,
      stream,
    })),
  ),
)

export type Asked = Omit<Question, 'model'> & { model?: string }

export type Refusal = {
  status: number
  code: string
  message: string
  hint: string | undefined
  headers: Readonly<Record<string, unknown>>
}

const CREDITS = 100_000_000_000
const PUBLIC_URL = 'https://svc.example'

export type Caller = Awaited<ReturnType<typeof openCaller>>

/** A caller with a service of its own. */
export async function openCaller(settings: Record<string, string> = {}) {
  const service = await createApp({
    settings: { WELCOME_CREDITS: String(CREDITS), PUBLIC_URL, ...settings },
  })
  return await addCaller(service)
}

/** One more caller, with a wallet of its own: what it sees is not disturbed by others. */
export async function addCaller(service: Service) {
  const person = await service.register()
  const { key } = await service.createKey(person.bearer)
  const wallet = walletOf(service, { key, bearer: person.bearer })
  const post = (format: Format, body: unknown) =>
    service.request({
      method: 'POST',
      url: format === 'openai' ? '/v1/chat/completions' : '/v1/messages',
      headers: { ...credential(format, key), 'content-type': 'application/json' },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const putQuestion = (path: Path, asked: Asked) => {
    const question = { model: path.model, ...asked }
    return post(path.format, questionBody(path.format, question, path.stream))
  }
  const requests = () => service.sandbox.requests()
  return {
    service,
    key,
    ...wallet,
    post,
    putQuestion,
    requests,

    /** Asks, expects an answer, and checks every number about money that can be seen. */
    async ask(path: Path, asked: Asked): Promise<Reply> {
      const { balance: before } = await wallet.balance()
      const response = await putQuestion(path, asked)
      assert.equal(response.statusCode, 200, response.body)
      const reply = (path.stream ? readStream : readReply)(path.format, response.body)
      const model = asked.model ?? path.model
      assert.equal(reply.model, model, 'the reply has the public name of the model')
      const credits_used = priceOf(model, reply.tokens)
      const { billing_mode, ...numbers } = reply.svc
      const balance_after = before - credits_used
      assert.deepEqual(numbers, { credits_used, balance_before: before, balance_after })
      if (!path.stream) assert.equal(billing_mode, 'developer')
      await wallet.check(numbers)
      return reply
    },

    /** Asks, expects a refusal before the first byte, and that it cost nothing. */
    async refusal(path: Path, asked: Asked): Promise<Refusal> {
      const before = await wallet.balance()
      const response = await putQuestion(path, asked)
      const refused = readRefusal(path.format, response)
      assert.deepEqual(await wallet.balance(), before, 'a refusal costs nothing')
      return refused
    },

    /** Asks for a stream that breaks, and says what it cost. */
    async broken(path: Path, asked: Asked): Promise<BrokenStream & { credits_used: number }> {
      const before = await wallet.balance()
      const response = await putQuestion(path, asked)
      assert.equal(response.statusCode, 200, response.body)
      const after = await wallet.balance()
      assert.equal(after.held, 0, 'nothing stays held')
      const credits_used = before.balance - after.balance
      return { ...readBrokenStream(path.format, response.body), credits_used }
    },

    /** The newest usage row, as the database has it. */
    async lastUsage(): Promise<UsageRow> {
      const [row] = await sql<UsageRow>(
        service.database_url,
        `select model, estimated, credits_used::int, input_tokens::int, cached_input_tokens::int,
           cache_write_tokens::int, output_tokens::int, reasoning_tokens::int,
           raw_usage, provider_request_id,
           (select p.prices from price_list p where p.id = price_list_id) as prices
         from usage_event where wallet_id = $1 order by balance_after limit 1`,
        [person.user_id],
      )
      assert.ok(row)
      return row
    },
  }
}

type Service = Awaited<ReturnType<typeof createApp>>

/** What the holder of a key and its session can see of the wallet. */
function walletOf(service: Service, owner: { key: string; bearer: Record<string, string> }) {
  const balance = async () => {
    const headers = { 'x-api-key': owner.key }
    const reply = await service.request({ url: '/v1/balance', headers })
    return reply.json<{ balance: number; held: number; available: number }>()
  }
  const check = async (svc: Omit<Reply['svc'], 'billing_mode'>) => {
    const { balance_after } = svc
    assert.deepEqual(await balance(), {
      balance: balance_after,
      held: 0,
      available: balance_after,
      promotional: balance_after,
      billing_mode: 'developer',
    })
    const url = '/account/transactions?limit=1'
    const page = await service.request({ url, headers: owner.bearer })
    const [newest] = page.json<{ data: StatementLine[] }>().data
    assert.deepEqual(
      [newest?.kind, newest?.amount, newest?.balance_before, newest?.balance_after],
      ['usage', -svc.credits_used, svc.balance_before, balance_after],
    )
  }
  return { balance, check }
}

type StatementLine = { kind: string; amount: number; balance_before: number; balance_after: number }

type UsageRow = {
  model: string
  estimated: boolean
  credits_used: number
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
  reasoning_tokens: number
  raw_usage: object | null
  provider_request_id: string | null
  prices: object | null
}

export function credential(format: Format, key: string): Record<string, string> {
  return format === 'openai'
    ? { authorization: `Bearer ${key}` }
    : { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
}

type Answered = {
  statusCode: number
  headers: Readonly<Record<string, unknown>>
  body: string
}

/** Reads our error and checks that it stands in the envelope of its format, whole. */
export function readRefusal(format: Format, response: Answered): Refusal {
  assert.match(String(response.headers['content-type']), /^application\/json/, response.body)
  const body = JSON.parse(response.body) as ErrorBody
  const { error } = body
  assert.ok(error, response.body)
  assert.equal(error.docs_url, `${PUBLIC_URL}/docs/errors#${error.code}`)
  assert.ok(error.message)
  const request_id = format === 'openai' ? error.request_id : body.request_id
  assert.equal(request_id, response.headers['x-request-id'])
  if (format === 'anthropic') assert.deepEqual([body.type, error.type], ['error', error.code])
  else assert.deepEqual([Object.keys(body), typeof error.type], [['error'], 'string'])
  const { code, message, hint } = error
  return { status: response.statusCode, code, message, hint, headers: response.headers }
}

type ErrorBody = {
  type?: string
  request_id?: string
  error?: {
    type: string
    code: string
    message: string
    hint?: string
    docs_url: string
    request_id?: string
  }
}
