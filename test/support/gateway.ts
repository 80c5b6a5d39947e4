// Calls to the gateway over real sockets, and what they must cost. Prices and token counts are worked out here
// from the published lists and from the sandbox's rules, never with the code under test.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { countTokens } from '../../sandbox/tokens.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { grantCredits } from '../../src/wallet/postings.ts'
import { createApp } from './app.ts'
import { openDb, sql } from './database.ts'
import { eventually } from './eventually.ts'

const REPLY_LIMIT_MS = 60_000

/** The heavier versions of the tests run with SVC_LONG=1. */
export const LONG = process.env['SVC_LONG'] === '1'

/** Credits per million tokens, as the providers publish them. */
export const PRICES = {
  'gpt-4o': { input: 2_500_000n, output: 10_000_000n },
  'gpt-4o-mini': { input: 150_000n, output: 600_000n },
  'gpt-5-mini': { input: 250_000n, output: 2_000_000n },
  'anthropic/claude-opus-4': { input: 15_000_000n, output: 75_000_000n },
  'anthropic/claude-sonnet-4': { input: 3_000_000n, output: 15_000_000n },
  'anthropic/claude-haiku-3.5': { input: 800_000n, output: 4_000_000n },
  'google/gemini-2.5-flash': { input: 300_000n, output: 2_500_000n },
  'google/gemini-2.0-flash': { input: 100_000n, output: 400_000n },
} as const

export type ModelName = keyof typeof PRICES

export const DIALECTS = ['openai', 'anthropic'] as const
export type DialectName = (typeof DIALECTS)[number]

/** One model of each provider. */
export const PROVIDER_MODELS = [
  'gpt-4o-mini',
  'anthropic/claude-haiku-3.5',
  'google/gemini-2.0-flash',
] as const satisfies readonly ModelName[]

export type Gateway = Awaited<ReturnType<typeof startGateway>>

/** The app on a port of its own. New accounts have nothing: `customer` says what they get. */
export async function startGateway(
  settings: Record<string, string> = {},
  options: { log_level?: string; database_url?: string } = {},
) {
  // The long versions make a key for each call.
  const usual = { WELCOME_CREDITS: '0', KEYS_PER_ACCOUNT_MAX: '100000' }
  const service = await createApp({ settings: { ...usual, ...settings }, ...options })
  const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const customer = async (credits: bigint) => {
    const { user_id: account_id, bearer } = await service.register()
    if (credits > 0n) await grant(service.database_url, account_id, credits)
    /** A fresh key for each call tells the calls apart: usage rows name it. */
    const newKey = (limits: object = {}) => service.createKey(bearer, limits)
    return { account_id, bearer, newKey }
  }
  return { ...service, url, customer }
}

export type Customer = Awaited<ReturnType<Gateway['customer']>>

export async function grant(database_url: string, account_id: string, amount: bigint) {
  const db = openDb(database_url)
  const id = mintWalletId(account_id, systemClock.now())
  await db.transaction((tx) => grantCredits(tx, { id, account_id, amount }))
  await db.close()
}

export type Ask = {
  key: string
  model: string
  prompt: string
  dialect?: DialectName
  stream?: boolean
  max_tokens?: number
  /** Further fields of the body. */
  extra?: object
  headers?: Record<string, string>
}

export type SseRecord = { event: string | undefined; data: string }

export type ChatReply = {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  /** The connection ended in good order. */
  complete: boolean
}

/** Sends the request; the caller decides when to read and when to leave. */
export function openChat(url: string, ask: Ask): http.ClientRequest {
  const dialect = ask.dialect ?? 'openai'
  const limit = ask.max_tokens ?? (dialect === 'anthropic' ? 4_000 : undefined)
  const body = JSON.stringify({
    model: ask.model,
    messages: [{ role: 'user', content: ask.prompt }],
    ...(ask.stream !== undefined && { stream: ask.stream }),
    ...(limit !== undefined && { max_tokens: limit }),
    ...ask.extra,
  })
  return openRequest(url, {
    path: dialect === 'openai' ? '/v1/chat/completions' : '/v1/messages',
    key: ask.key,
    body,
    ...(ask.headers && { headers: ask.headers }),
  })
}

export function openRequest(
  url: string,
  given: { path: string; key: string; body: string; headers?: Record<string, string> },
): http.ClientRequest {
  const request = http.request(`${url}${given.path}`, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${given.key}`,
      ...given.headers,
    },
    signal: AbortSignal.timeout(REPLY_LIMIT_MS),
  })
  // Whoever leaves early hears of it here.
  request.on('error', () => {})
  request.end(given.body)
  return request
}

export async function readReply(request: http.ClientRequest): Promise<ChatReply> {
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) text += chunk
  } catch {
    // `complete` says so.
  }
  const { statusCode: status = 0, headers, complete } = response
  return { status, headers, text, complete }
}

/** One call, read to its end. */
export function chat(url: string, ask: Ask): Promise<ChatReply> {
  return readReply(openChat(url, ask))
}

export function recordsOf(text: string): SseRecord[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n')
      const valueOf = (name: string) =>
        lines
          .filter((line) => line.startsWith(`${name}: `))
          .map((line) => line.slice(name.length + 2))
      return { event: valueOf('event')[0], data: valueOf('data').join('\n') }
    })
}

export type SvcNumbers = { credits_used: number; balance_before: number; balance_after: number }

/** The numbers that every served reply carries, wherever the dialect puts them. */
export function svcOf(reply: ChatReply): SvcNumbers {
  if (!String(reply.headers['content-type']).startsWith('text/event-stream')) {
    return (JSON.parse(reply.text) as { svc: SvcNumbers }).svc
  }
  const last = recordsOf(reply.text).at(-1)
  const data = JSON.parse(last?.data ?? 'null') as { svc?: SvcNumbers } & SvcNumbers
  const svc = last?.event === 'svc_usage' ? data : data.svc
  assert.ok(svc, `no svc numbers in ${reply.text.slice(-300)}`)
  return svc
}

/** The code of an error body, or of the record that ends a stream. */
export function codeOf(reply: ChatReply): string {
  const is_stream = String(reply.headers['content-type']).startsWith('text/event-stream')
  const body = is_stream ? (recordsOf(reply.text).at(-1)?.data ?? '') : reply.text
  return (JSON.parse(body) as { error: { code: string } }).error.code
}

/** What the model said, in either dialect, streamed or whole. */
export function saidIn(reply: ChatReply): string {
  if (!String(reply.headers['content-type']).startsWith('text/event-stream')) {
    const whole = JSON.parse(reply.text) as Partial<WholeReply>
    return (
      whole.choices?.map((choice) => choice.message.content ?? '').join('') ??
      whole.content?.map((block) => block.text ?? '').join('') ??
      ''
    )
  }
  return recordsOf(reply.text)
    .filter(({ data }) => data.startsWith('{'))
    .map(({ data }) => {
      const chunk = JSON.parse(data) as Partial<StreamRecord>
      return chunk.delta?.text ?? chunk.choices?.[0]?.delta?.content ?? ''
    })
    .join('')
}

type WholeReply = {
  choices: { message: { content: string | null } }[]
  content: { text?: string }[]
}

type StreamRecord = {
  delta: { text?: string }
  choices: { delta?: { content?: string } }[]
}

export type UsageRow = {
  credits_used: bigint
  cost_credits: bigint
  shortfall_credits: bigint
  balance_before: bigint
  balance_after: bigint
  input_tokens: number
  output_tokens: number
  estimated: boolean
  outcome: string
  request_id: string
}

/** The rows of one key, oldest first. */
export async function usageOf(
  gateway: Pick<Gateway, 'database_url'>,
  key_id: string,
): Promise<UsageRow[]> {
  const rows = await sql<
    Record<Exclude<keyof UsageRow, 'estimated'>, string> & { estimated: boolean }
  >(
    gateway.database_url,
    `select credits_used, cost_credits, shortfall_credits, balance_before, balance_after, input_tokens,
       output_tokens, estimated, outcome,
       'req_' || replace(request_id::text, '-', '') as request_id
     from usage_event where key_id = $1 order by id`,
    [key_id],
  )
  return rows.map((row) => ({
    ...row,
    credits_used: BigInt(row.credits_used),
    cost_credits: BigInt(row.cost_credits),
    shortfall_credits: BigInt(row.shortfall_credits),
    balance_before: BigInt(row.balance_before),
    balance_after: BigInt(row.balance_after),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
  }))
}

/** The one row of a key that was used once; waits for it. */
export async function onlyUsageOf(
  gateway: Pick<Gateway, 'database_url'>,
  key_id: string,
  within_ms = 5_000,
): Promise<UsageRow> {
  let rows: UsageRow[] = []
  await eventually(
    'the call is settled',
    async () => {
      rows = await usageOf(gateway, key_id)
      return rows.length > 0
    },
    within_ms,
  )
  const [row] = rows
  assert.ok(row && rows.length === 1, 'one call is charged once')
  return row
}

export type Balance = { posted: bigint; held: bigint }

export async function balanceOf(
  gateway: Pick<Gateway, 'database_url'>,
  account_id: string,
): Promise<Balance> {
  const [row] = await sql<{ posted: string; held: string }>(
    gateway.database_url,
    'select posted, held from wallet where id = $1',
    [account_id],
  )
  return { posted: BigInt(row?.posted ?? -1), held: BigInt(row?.held ?? -1) }
}

/** The sandbox counts a prompt of one message as it is rendered. */
export function promptTokensOf(prompt: string): number {
  return countTokens(`user\n${prompt}\n\n`)
}

/** ceil(Σ tokens × price / 1,000,000), rounded once. */
export function costOf(model: ModelName, tokens: { input: number; output: number }): bigint {
  const { input, output } = PRICES[model]
  const millionths = BigInt(tokens.input) * input + BigInt(tokens.output) * output
  return (millionths + 999_999n) / 1_000_000n
}

/** What the sandbox got with this text in it. */
export function upstreamCalls(gateway: Pick<Gateway, 'sandbox'>, marker: string) {
  return gateway.sandbox
    .requests()
    .filter((request) => JSON.stringify(request.body).includes(marker))
}

let markers = 0

/** A word that no other call has. */
export function mark(): string {
  markers += 1
  return `call-${markers}-end`
}

/** The end of every file: no hold is open, nothing is negative, and every proof of the ledger stands. */
export async function assertBooksClosed(
  gateway: Pick<Gateway, 'database_url'>,
  within_ms = 5_000,
): Promise<void> {
  const { database_url } = gateway
  const noHold = async () => {
    const [row] = await sql<{ count: string }>(database_url, 'select count(*) from hold')
    return row?.count === '0'
  }
  await eventually('no hold is open', noHold, within_ms)
  const wrong = await sql(
    database_url,
    'select id, posted, held from wallet where held <> 0 or posted < 0',
  )
  assert.deepEqual(wrong, [])
  const spent = await sql(
    database_url,
    'select owner_id from spend_counter where held <> 0 or spent < 0',
  )
  assert.deepEqual(spent, [])
  const db = openDb(database_url)
  const report = await checkLedger(db)
  await db.close()
  assert.deepEqual(
    report.proofs.filter((proof) => proof.differences > 0),
    [],
  )
  assert.equal(report.ok, true)
}
