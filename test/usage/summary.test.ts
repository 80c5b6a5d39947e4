// The sums: at any instant, for everybody and in every grouping, they are those of the calls themselves.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/platform/clock.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { FailedCalls } from '../../src/usage/failed-calls.ts'
import { foldUsage, rebuildUsage } from '../../src/usage/jobs.ts'
import { GROUPINGS, type SummaryAsked, sumUsage } from '../../src/usage/summary.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { chargeOf, LONG, makeLedger, makeWallets, silent } from '../wallet/support.ts'
import { openApp, openDesk } from './support.ts'

const HOUR_MS = 3_600_000
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'anthropic/claude-sonnet-4']
const OUTCOMES = ['complete', 'complete', 'client_left', 'failed']
const USERS = [undefined, 'ext-1', 'ext-2']

const url = await createDatabase()
const db = openDb(url)
const ledger = await makeLedger(url)
after(async () => {
  await ledger.stop()
  await db.close()
})
const accounts = await makeWallets(db, 4, 1_000_000_000n)
const keys = accounts.map(() => [mintId(), mintId()])
const failed_calls = new FailedCalls(() => assert.fail('a call was dropped'))
const fold = () => foldUsage({ db, clock: systemClock, log: silent, wakeMailSender: () => {} })

function pick<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}

/** Somebody pays for a call of somebody's key, at some time of the last two days. */
function describeCall() {
  const wallet_id = pick(accounts)
  const developer = Math.floor(Math.random() * accounts.length)
  const developer_id = accounts[developer] ?? ''
  const is_user = wallet_id !== developer_id
  const external_user_id = is_user ? pick(USERS) : undefined
  return {
    id: mintWalletId(wallet_id, new Date(Date.now() - Math.random() * 48 * HOUR_MS)),
    wallet_id,
    developer_id,
    key_id: pick(keys[developer] ?? []),
    model: pick(MODELS),
    billing_mode: is_user ? ('user' as const) : ('developer' as const),
    ...(is_user && { client_id: `app-${developer}` }),
    ...(external_user_id !== undefined && { external_user_id }),
  }
}

async function settleOne(): Promise<void> {
  const { id, wallet_id, ...usage } = describeCall()
  const hold = await ledger.hold({ id, wallet_id, min_credits: 1n, max_credits: 100n })
  const used = BigInt(Math.floor(Math.random() * 100))
  const outcome = pick(OUTCOMES)
  const charge = chargeOf(hold, used)
  await ledger.settle({
    ...charge,
    cost_credits: (used * 4n) / 5n,
    usage: {
      ...charge.usage,
      ...usage,
      outcome,
      ...(outcome === 'failed' && { error_code: 'upstream_error' }),
      input_tokens: Math.floor(Math.random() * 50),
      output_tokens: Math.floor(Math.random() * 50),
    },
    event: {},
  })
}

async function failOne(): Promise<void> {
  const { client_id = null, external_user_id = null, ...call } = describeCall()
  failed_calls.note({
    ...call,
    client_id,
    external_user_id,
    endpoint: '/v1/messages',
    upstream_model: null,
    stream: false,
    request_id: mintId().replaceAll('-', ''),
    outcome: 'refused',
    error_code: pick(['insufficient_credits', 'model_not_found'] as const),
    http_status: 400,
    total_ms: 1,
  })
  if (Math.random() < 0.3) await failed_calls.flush(db)
}

const COUNTED_MODEL = "case when error_code = 'model_not_found' then '(unknown)' else model end"

type Expected = { key: string; numbers: string }

/** The same from the rows themselves, with nothing but a group by. */
async function addUpRows(account_id: string, asked: SummaryAsked): Promise<Expected[]> {
  const group = {
    model: COUNTED_MODEL,
    key: 'case when developer_id = $1 then key_id::text end',
    app: 'client_id',
    external_user: 'external_user_id',
    error: 'error_code',
    none: 'null::text',
  }[asked.group_by ?? 'none']
  const text = `select concat(to_char(date_trunc($2, at, 'UTC') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI'), ' ', ${group}) as key,
       concat_ws(' ', sum(credits_used), coalesce(sum(credits_used) filter (where wallet_id = $1), 0), sum(cost_credits),
         sum(markup_credits), count(*), count(*) filter (where outcome in ('failed', 'refused')),
         sum(input_tokens), sum(output_tokens)) as numbers
     from (
       select at, wallet_id, developer_id, key_id, client_id, external_user_id, model, error_code, outcome,
         credits_used, cost_credits, markup_credits, input_tokens, output_tokens, billing_mode from usage_event
       union all
       select at, wallet_id, developer_id, key_id, client_id, external_user_id, model, error_code, outcome,
         0, 0, 0, 0, 0, billing_mode from failed_call
     ) u
     where (wallet_id = $1 or developer_id = $1)
       and ($3::text is null or usage_status_of(outcome)::text = $3)
       and ($4::text is null or ${COUNTED_MODEL} = $4)
       and ($5::text is null or external_user_id = $5)
       and ($6::uuid is null or (key_id = $6 and developer_id = $1))
     group by date_trunc($2, at, 'UTC'), ${group}
     order by 1`
  return await db.run<Expected>({ name: '', text }, [
    account_id,
    asked.interval,
    asked.status ?? null,
    asked.model ?? null,
    asked.external_user_id ?? null,
    asked.key_id ?? null,
  ])
}

const QUESTIONS: SummaryAsked[] = [
  { interval: 'hour' },
  { interval: 'day', status: 'failed', group_by: 'error' },
  { interval: 'day', model: 'gpt-4o', group_by: 'key' },
  { interval: 'hour', external_user_id: 'ext-1', group_by: 'app' },
  ...[keys[0]?.[0] ?? ''].flatMap((key_id) => [
    { interval: 'day' as const, key_id, group_by: 'model' as const },
    { interval: 'hour' as const, key_id, group_by: 'external_user' as const },
    { interval: 'day' as const, key_id, external_user_id: 'ext-2' },
  ]),
  ...GROUPINGS.map((group_by) => ({ interval: pick(['hour', 'day'] as const), group_by })),
]

async function assertSumsAreRight(): Promise<void> {
  for (const account_id of accounts) {
    for (const asked of QUESTIONS) {
      const from = new Date(Date.now() - 72 * HOUR_MS).toISOString()
      const { data, total } = await sumUsage(db, systemClock, { ...asked, account_id, from })
      const cells = data.map((cell) => ({
        key: `${cell.start.toISOString().slice(0, 16)} ${cell.group ?? ''}`,
        numbers: [
          cell.credits,
          cell.own_credits,
          cell.cost_credits,
          cell.markup_credits,
          cell.requests,
          cell.errors,
          cell.input_tokens,
          cell.output_tokens,
        ].join(' '),
      }))
      const expected = await addUpRows(account_id, asked)
      assert.deepEqual(normal(cells), normal(expected), JSON.stringify(asked))
      const requests = data.reduce((sum, cell) => sum + cell.requests, 0n)
      const credits = data.reduce((sum, cell) => sum + cell.credits, 0n)
      assert.deepEqual([total.requests, total.credits], [requests, credits])
    }
  }
}

function normal(rows: Expected[]): Expected[] {
  return rows.toSorted((left, right) => (left.key < right.key ? -1 : 1))
}

describe('the sums of usage', () => {
  it('are those of the calls at any instant, whatever was folded when', async () => {
    for (let round = 0; round < (LONG ? 60 : 4); round++) {
      const calls = Array.from({ length: 20 }, () =>
        Math.random() < 0.7 ? settleOne() : failOne(),
      )
      if (round % 2 === 0) await Promise.all([...calls, fold()])
      else await Promise.all(calls)
      await assertSumsAreRight()
    }
  })

  it('miss no call that is committed late and count none twice', async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('begin')
    // A call that is written before others that are folded, and committed after them.
    const wallet_id = pick(accounts)
    const id = mintWalletId(wallet_id, new Date())
    await client.query(
      `with made as (
         insert into usage_event
         select (jsonb_populate_record(u, jsonb_build_object('id', $1::uuid, 'at', id_time($1), 'wallet_id', $2::uuid,
           'bucket', wallet_bucket($2)))).*
         from usage_event u limit 1
       )
       insert into outbox (bucket, wallet_id, source_id, kind, balance_before, balance_after, at)
       values (wallet_bucket($2), $2, $1, 'usage.completed', 1, 0, now())`,
      [id, wallet_id],
    )
    for (let call = 0; call < 5; call++) await settleOne()
    await fold()
    await assertSumsAreRight()
    await client.query('commit')
    await client.end()
    await assertSumsAreRight()
    await Promise.all([fold(), fold(), fold()])
    await assertSumsAreRight()
  })

  it('are the same when they are made anew, also after the database was restored elsewhere', async () => {
    await rebuildUsage(db)
    await assertSumsAreRight()
    await sql(url, `update event_cursor set done = '4000000000:4000000000:' where reader = 'usage'`)
    await settleOne()
    await fold()
    await settleOne()
    await assertSumsAreRight()
  })

  it('stand when the calls of a month are archived', async () => {
    await fold()
    const [account_id = ''] = accounts
    const asked = { interval: 'day', account_id } as const
    const before = await sumUsage(db, systemClock, asked)
    await sql(url, 'delete from usage_event')
    assert.deepEqual(await sumUsage(db, systemClock, asked), before)
  })
})

describe('GET /account/usage/summary', () => {
  it('says that its days are those of UTC, what its range is, and what the total is', async () => {
    const desk = await openDesk()
    const { developer, user, app, headers } = await openApp(desk)
    const replies = [await desk.ask(headers, 'hello'), await desk.ask(headers, 'hello')]
    await desk.ask(headers, 'hello', { model: 'nothing' })
    await desk.flush()
    const paid = replies.reduce((sum, reply) => sum + Number(reply.json().svc.credits_used), 0)
    for (const folded of [false, true]) {
      if (folded) await desk.fold()
      const seen = await desk.summary(developer, '?group_by=app&interval=hour')
      assert.equal(seen.timezone, 'UTC')
      assert.deepEqual(
        [seen.from, seen.to].map((time) => time.slice(13)),
        [':00:00.000Z', ':00:00.000Z'],
      )
      assert.equal(seen.data[0]?.group, app.client_id)
      const { credits, own_credits, requests, errors } = seen.total
      assert.deepEqual(
        { credits, own_credits, requests, errors },
        { credits: paid, own_credits: 0, requests: 3, errors: 1 },
      )
      assert.equal((await desk.summary(user)).total['own_credits'], paid)
      const by_user = await desk.summary(developer, '?group_by=external_user&status=ok')
      assert.deepEqual(
        by_user.data.map((cell) => [cell.group, cell['requests']]),
        [['ext-1', 2]],
      )
    }
  })

  it('refuses a range that is empty or too long, and groups that there are not', async () => {
    const desk = await openDesk()
    const { bearer } = await desk.register()
    const wrong = [
      'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
      'from=2025-01-01T00:00:00Z&to=2026-12-01T00:00:00Z',
      'interval=hour&from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z',
      'group_by=colour',
      'interval=week',
      'from=x',
    ]
    for (const query of wrong) {
      const reply = await desk.get(`/account/usage/summary?${query}`, bearer)
      assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'], query)
    }
  })
})

describe('the mail of a low balance', () => {
  it('goes out once each time the balance falls below the amount, and never to who does not want it', async () => {
    const desk = await openDesk()
    const told = async (person: { user_id: string }) =>
      (
        await sql<{ subject: string }>(
          desk.database_url,
          `select subject from mail_outbox where account_id = $1 and purpose = 'notice'`,
          [person.user_id],
        )
      ).length
    const change = (
      person: { bearer: Record<string, string> },
      low_balance_credits: number | null,
    ) =>
      desk.request({
        method: 'PATCH',
        url: '/account',
        headers: { ...person.bearer, 'content-type': 'application/json' },
        payload: JSON.stringify({ low_balance_credits }),
      })
    const [careful, careless] = [await desk.register(), await desk.register()]
    assert.equal((await change(careful, 1_000_000)).json().low_balance_credits, 1_000_000)
    assert.equal((await change(careless, null)).json().low_balance_credits, null)
    for (const person of [careful, careless]) {
      const { key } = await desk.createKey(person.bearer)
      for (let call = 0; call < 3; call++) await desk.ask({ 'x-api-key': key }, 'hello')
    }
    await desk.fold()
    await desk.fold()
    assert.deepEqual([await told(careful), await told(careless)], [1, 0])
  })
})
