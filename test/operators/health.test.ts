// How the service stands: traffic and errors of everybody, models, webhooks that fail or wait, and what runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldUsage, usageJobs } from '../../src/usage/jobs.ts'
import { sql } from '../support/database.ts'
import { createWebhookService } from '../support/webhooks.ts'
import { actsOf, makeOperator } from './support.ts'

const service = await createWebhookService()
const operator = await makeOperator(service)
const { parts, clock, database_url } = service
const fold = () => foldUsage({ ...parts, wakeMailSender: () => {} })

type Traffic = {
  requests: number
  errors: number
  credits: number
  errors_by_code: { code: string; count: number }[]
}
type Overview = {
  version: string
  mode: string
  role: string
  traffic: { hour: Traffic; day: Traffic }
  holds: { count: number }
  webhooks: { pending: number; due: number; oldest_due_at: string | null; is_complete: boolean }
  mail: { waiting: number }
  migrations: { count: number; last: string }
  process: { pid: number; requests: { count: number; p95_ms: number | null }; jobs: object[] }
}
type Models = {
  data: {
    name: string
    provider: string
    key_configured: boolean
    state: string
    pricing: { unit: string; input: number; output: number | null }
    day: { requests: number; errors: number; credits: number }
  }[]
}
type Health = {
  backlog: { webhooks: number; pending: number; due: number }
  waiting: { webhook_id: string; developer_email: string; pending: number; due: number }[]
  failing: {
    webhook_id: string
    developer_email: string
    failed: number
    failed_events: number
    delivered: number
  }[]
}

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }

async function customer() {
  const person = await service.register()
  const { key } = await service.createKey(person.bearer)
  const call = (model: string) =>
    service.post('/v1/chat/completions', { ...CHAT, model }, { 'x-api-key': key })
  return { person, call }
}

test('the overview counts the calls of everybody, before and after they are folded into the sums', async () => {
  const [ann, bob] = [await customer(), await customer()]
  for (const { call } of [ann, bob]) assert.equal((await call('gpt-4o-mini')).statusCode, 200)
  assert.equal((await bob.call('no-such-model')).statusCode, 404)
  await parts.failed_calls.flush(parts.db)
  const before = await operator.read<Overview>('/operator/overview')
  await fold()
  const folded = await operator.read<Overview>('/operator/overview')
  const [spent] = await sql<{ credits: number }>(
    database_url,
    'select sum(credits_used)::integer as credits from usage_event',
  )
  for (const { traffic } of [before, folded]) {
    for (const { requests, errors, credits, errors_by_code } of [traffic.hour, traffic.day]) {
      assert.deepEqual([requests, errors, credits], [3, 1, spent?.credits])
      assert.deepEqual(errors_by_code, [{ code: 'model_not_found', count: 1 }])
    }
  }
  clock.advance(3 * 3_600_000)
  const later = await operator.read<Overview>('/operator/overview')
  assert.deepEqual([later.traffic.hour.requests, later.traffic.day.requests], [0, 3])
  clock.advance(24 * 3_600_000)
  const visitor = await makeOperator(service)
  const next_day = await visitor.read<Overview>('/operator/overview')
  assert.equal(next_day.traffic.day.requests, 0)
  clock.advance(-27 * 3_600_000)
})

test('the sums of the service are forgotten after 90 days, and those of accounts are not', async () => {
  await sql(
    database_url,
    `insert into usage_hour
     select (jsonb_populate_record(h, '{"hour": "2020-01-01T00:00:00Z"}')).* from usage_hour h`,
  )
  const count = async (owner: string) =>
    (await sql(database_url, `select from usage_hour where hour < '2021-01-01' and ${owner}`))
      .length
  const nil = '00000000-0000-0000-0000-000000000000'
  const of_accounts = await count(`owner_id <> '${nil}'`)
  assert.ok(of_accounts > 0 && (await count(`owner_id = '${nil}'`)) > 0)
  const job = usageJobs({ ...parts, wakeMailSender: () => {} }).find(
    ({ name }) => name === 'usage.forget_failed_calls',
  )
  await job?.run(new AbortController().signal)
  assert.equal(await count(`owner_id = '${nil}'`), 0)
  assert.equal(await count(`owner_id <> '${nil}'`), of_accounts)
  const { traffic } = await operator.read<Overview>('/operator/overview')
  assert.equal(traffic.day.requests, 3)
})

test('the overview says which program and which process answers, and what waits', async () => {
  const overview = await operator.read<Overview>('/operator/overview')
  assert.match(overview.version, /^\d+\.\d+\.\d+/)
  assert.deepEqual([overview.mode, overview.role], ['sandbox', 'all'])
  assert.equal(overview.process.pid, process.pid)
  assert.ok(overview.process.requests.count > 0)
  assert.ok(overview.process.requests.p95_ms !== null)
  assert.equal(overview.holds.count, 0)
  const [counts] = await sql<{ mails: number; migrations: number; last: string }>(
    database_url,
    `select (select count(*) from mail_outbox)::integer as mails, count(*)::integer as migrations,
       max(name) as last
     from migration`,
  )
  assert.equal(overview.mail.waiting, counts?.mails)
  assert.deepEqual(overview.migrations, { count: counts?.migrations, last: counts?.last })
  parts.job_runs.note('usage.fold', { outcome: 'ok', seconds: 0.5, ended_at: clock.now() })
  const { process: after_job } = await operator.read<Overview>('/operator/overview')
  assert.deepEqual(after_job.jobs, [
    { name: 'usage.fold', outcome: 'ok', seconds: 0.5, ended_at: clock.now().toISOString() },
  ])
})

test('models show their prices, whether they can be called, and their traffic under any of their names', async () => {
  const list = async () => (await operator.read<Models>('/operator/models')).data
  const mini = async () => (await list()).find(({ name }) => name === 'gpt-4o-mini')
  const before = await mini()
  const { call } = await customer()
  assert.equal((await call('openai/gpt-4o-mini')).statusCode, 200)
  const after = await mini()
  assert.equal(after?.day.requests, (before?.day.requests ?? 0) + 1)
  assert.ok((after?.day.credits ?? 0) > (before?.day.credits ?? 0))
  const shown = await service.request({ url: '/v1/models/gpt-4o-mini' })
  const { input, output } = shown.json<{ pricing: { input: number; output: number } }>().pricing
  assert.deepEqual([after?.pricing.input, after?.pricing.output], [input, output])
  for (const model of await list()) {
    assert.equal(model.key_configured, true, model.name)
    assert.ok(['served', 'retiring', 'retired'].includes(model.state))
  }
})

test('failing webhooks and what waits are seen; one is paused and recovered on record', async () => {
  const owner = await service.owner()
  const { id } = owner.webhook
  owner.receiver.answerWith((response) => response.writeHead(500).end('no'))
  await service.manage(owner.developer).post(`/v1/webhooks/${id}/test`)
  const waiting = await operator.read<Health>('/operator/webhooks/health')
  assert.deepEqual(
    [waiting.backlog.webhooks, waiting.waiting[0]?.webhook_id, waiting.waiting[0]?.due],
    [1, id, 1],
  )
  assert.equal(waiting.waiting[0]?.developer_email, owner.developer.email)
  const overview = await operator.read<Overview>('/operator/overview')
  assert.deepEqual([overview.webhooks.due, overview.webhooks.is_complete], [1, true])
  assert.ok(overview.webhooks.oldest_due_at)
  await service.work()
  const { failing, backlog } = await operator.read<Health>('/operator/webhooks/health')
  assert.deepEqual(
    failing.map(({ webhook_id, failed, failed_events, delivered }) => [
      webhook_id,
      failed,
      failed_events,
      delivered,
    ]),
    [[id, 1, 1, 0]],
  )
  assert.equal(failing[0]?.developer_email, owner.developer.email)
  assert.equal(backlog.due, 0)
  const since = '2020-01-01T00:00:00.000Z'
  owner.receiver.answerWith((response) => response.end('ok'))
  const recovered = await operator.act(`/operator/webhooks/${id}/recover`, { since })
  assert.deepEqual(recovered.json(), { count: 1, has_more: false })
  await service.work()
  const { deliveries } = await service.manage(owner.developer).list(id)
  assert.deepEqual(
    deliveries.map(({ status }) => status),
    ['delivered'],
  )
  const pause = () => operator.act(`/operator/webhooks/${id}/pause`, { reason: 'floods itself' })
  assert.deepEqual((await pause()).json(), { changed: true })
  assert.deepEqual((await pause()).json(), { changed: false })
  const seen = await service.manage(owner.developer).ask('GET', `/v1/webhooks/${id}`)
  assert.equal(seen.json<{ active: boolean }>().active, false)
  const [mail] = await sql<{ words: string }>(
    database_url,
    `select words from mail_outbox where account_id = $1 and purpose = 'notice'`,
    [owner.developer.user_id],
  )
  assert.match(mail?.words ?? '', /floods itself/)
  const off = await operator.act(`/operator/webhooks/${id}/recover`, { since })
  assert.equal(off.statusCode, 400)
  assert.deepEqual(
    (await actsOf(service, operator)).map(({ act, subject }) => [act, subject]),
    [
      ['webhook recover', id],
      ['webhook pause', id],
    ],
  )
})
