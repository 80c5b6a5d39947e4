// A stop of ours that cuts an answer: never charged more than what was delivered, free where nothing was, and the
// client is told so. Inside the process for every format, and once with a real process and SIGTERM.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { countTokens } from '../../sandbox/tokens.ts'
import { sandboxSettings } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  balanceOf,
  type ChatReply,
  codeOf,
  costOf,
  DIALECTS,
  type DialectName,
  grant,
  type ModelName,
  mark,
  openChat,
  PROVIDER_MODELS,
  promptTokensOf,
  readReply,
  saidIn,
  startGateway,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'
import { reach } from '../support/remote.ts'
import { startServer } from '../support/service.ts'
import { sharedSandbox } from '../support/shared-sandbox.ts'

const CREDITS = 1_000_000_000n

/** What is under way when the stop comes. */
type Cut = {
  model: ModelName
  dialect: DialectName
  kind: 'whole' | 'silent stream' | 'stream' | 'left before'
}

const CUTS: Cut[] = [...PROVIDER_MODELS, 'gpt-5-mini' as const].flatMap((model) =>
  DIALECTS.flatMap((dialect) =>
    (['whole', 'silent stream', 'stream', 'left before'] as const).map((kind) => ({
      model,
      dialect,
      kind,
    })),
  ),
)

/** Long enough to be under way at the stop, whatever the machine does. */
const SLOWNESS = {
  whole: '[[sandbox:slow=60000]]',
  'silent stream': '[[sandbox:slow=60000]]',
  stream: '[[sandbox:tokens=3000]] [[sandbox:pace=20]]',
  'left before': '[[sandbox:slow=60000]]',
}

type Service = {
  url: string
  database_url: string
  sandbox: Awaited<ReturnType<typeof sharedSandbox>>
  newKey: () => Promise<{ id: string; key: string }>
}

/** Starts all of them and waits until each is where the stop shall find it. */
async function startAll(service: Service) {
  return await Promise.all(
    CUTS.map(async (cut) => {
      const key = await service.newKey()
      const marker = mark()
      const prompt = `Hello ${marker} ${SLOWNESS[cut.kind]} [[sandbox:reasoning=0]]`
      const { model, dialect } = cut
      const stream = cut.kind !== 'whole'
      const request = openChat(service.url, { key: key.key, model, prompt, dialect, stream })
      const reply = readReply(request)
      reply.catch(() => {})
      const isAsked = () => upstreamCalls(service, marker).length > 0
      await eventually(`the provider is asked: ${JSON.stringify(cut)}`, isAsked)
      if (cut.kind === 'stream') {
        let received = ''
        request.on('response', (response) => {
          response.on('data', (chunk) => {
            received += chunk
          })
        })
        await eventually('the answer has begun', () => received.length > 3_000)
      }
      if (cut.kind === 'left before') request.destroy()
      return { cut, key, prompt, reply, request }
    }),
  )
}

type Started = Awaited<ReturnType<typeof startAll>>[number]

async function assertTold({ cut, reply }: Started): Promise<ChatReply | undefined> {
  const what = JSON.stringify(cut)
  if (cut.kind === 'left before') return undefined
  const got = await reply
  assert.equal(got.complete, true, what)
  assert.equal(codeOf(got), 'service_unavailable', what)
  if (cut.kind === 'stream') {
    assert.equal(got.status, 200)
    assert.match(got.text, /what was delivered of this one is charged/)
    return got
  }
  assert.equal(got.status, 503, what)
  assert.equal(got.headers['retry-after'], '1')
  assert.equal(got.headers['x-should-retry'], undefined)
  assert.match(got.text, /nothing was charged/)
  return got
}

async function assertCharged(service: Service, started: Started): Promise<bigint> {
  const { cut, key, prompt } = started
  const what = JSON.stringify(cut)
  const got = await assertTold(started)
  const rows = await usageOf(service, key.id)
  if (cut.kind === 'whole' || cut.kind === 'silent stream') {
    assert.deepEqual(rows, [], what)
    return 0n
  }
  const [row] = rows
  assert.ok(row && rows.length === 1, what)
  if (cut.kind === 'left before') {
    assert.equal(row.outcome, 'client_left', what)
    return row.credits_used
  }
  assert.ok(got)
  assert.deepEqual([row.outcome, row.estimated], ['service_stopped', true], what)
  const delivered = countTokens(saidIn(got))
  assert.ok(row.output_tokens > 0 && row.output_tokens <= delivered, what)
  const most = costOf(cut.model, { input: 4 * promptTokensOf(prompt), output: delivered })
  assert.ok(row.credits_used > 0n && row.credits_used <= most, `${row.credits_used}: ${what}`)
  return row.credits_used
}

async function assertAll(service: Service, all: Started[], account_id: string): Promise<void> {
  let charged = 0n
  for (const started of all) charged += await assertCharged(service, started)
  await assertBooksClosed(service)
  assert.deepEqual(await balanceOf(service, account_id), { posted: CREDITS - charged, held: 0n })
}

describe('an answer that a stop of ours cuts', () => {
  test('costs what was delivered, nothing if nothing was, and who had left before pays as ever', async () => {
    const gateway = await startGateway()
    const customer = await gateway.customer(CREDITS)
    const service = { ...gateway, newKey: () => customer.newKey() }
    const all = await startAll(service)
    await gateway.parts.running.finish(200)
    await assertAll(service, all, customer.account_id)

    const key = await customer.newKey()
    const late = mark()
    const ask = { key: key.key, model: 'gpt-4o-mini', prompt: `Hello ${late}` }
    const reply = await readReply(openChat(gateway.url, ask))
    assert.deepEqual([reply.status, codeOf(reply)], [503, 'service_unavailable'])
    assert.deepEqual(upstreamCalls(gateway, late), [])
  })

  test('by SIGTERM is told to its client before the connection goes', async (t) => {
    const database_url = await createDatabase()
    const sandbox = await sharedSandbox()
    const server = await startServer({
      DATABASE_URL: database_url,
      SHUTDOWN_GRACE_MS: '400',
      WELCOME_CREDITS: '0',
      ...sandboxSettings(sandbox.urls),
    })
    t.after(() => server.kill())
    const remote = reach(server)
    const person = await remote.register()
    await grant(database_url, person.user_id, CREDITS)
    const newKey = () => remote.createKey(person.bearer)
    const service = { url: server.url, database_url, sandbox, newKey }
    const all = await startAll(service)
    const ended = await server.stop()
    assert.equal(ended.code, 0, server.output())
    await assertAll(service, all, person.user_id)
  })
})
