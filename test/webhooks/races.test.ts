// What happens at the same moment: events that commit while the outbox is read, and attempts that end together.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import { sendDue } from '../../src/webhooks/jobs.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createWebhookService, type WebhookService } from '../support/webhooks.ts'

/** Reads the outbox, and stops it for `meanwhile` between its first look at the webhooks and the cursor. */
async function fanOutDuring(service: WebhookService, meanwhile: () => Promise<unknown>) {
  const client = new Client({ connectionString: service.database_url })
  await client.connect()
  await client.query('begin; lock table event_cursor in access exclusive mode')
  const reading = fanOut(service.job_parts)
  await eventually('the reader waits', async () => {
    const waiting = await sql(
      service.database_url,
      `select 1 from pg_locks where relation = 'event_cursor'::regclass and not granted`,
    )
    return waiting.length > 0
  })
  await meanwhile()
  await client.query('commit')
  await client.end()
  await reading
}

describe('a call that is charged while the outbox is read', () => {
  it('is told with all that is known of it, to the app it came through', async () => {
    const service = await createWebhookService()
    const { developer, app, receiver } = await service.owner()
    const { client_id } = app
    const { key } = await service.createKey(developer.bearer, { client_id })
    await fanOutDuring(service, () => service.call(key))
    await service.work()
    assert.equal(receiver.received.length, 2)
    for (const { event } of receiver.received) assert.equal(event.data['model'], 'gpt-4o-mini')
  })

  it('is told to the first webhook there is, made at that moment', async () => {
    const service = await createWebhookService()
    const developer = await service.register()
    const { key } = await service.createKey(developer.bearer)
    let receiver: Awaited<ReturnType<typeof service.owner>>['receiver'] | undefined
    await fanOutDuring(service, async () => {
      const owner = await service.owner()
      receiver = owner.receiver
      const own = await service.createKey(owner.developer.bearer)
      await service.call(own.key)
      await service.call(key)
    })
    await service.work()
    assert.equal(receiver?.received.length, 2)
  })
})

describe('two attempts of one delivery that end together', () => {
  it('are both in its log, and what has arrived is delivered', async () => {
    const service = await createWebhookService()
    const { webhook, receiver, post, read } = await service.owner()
    const answers: ((status: number) => void)[] = []
    receiver.answerWith((response) => answers.push((status) => response.writeHead(status).end()))
    const sent = await post(`/v1/webhooks/${webhook.id}/test`)
    const { id } = sent.json<{ id: string }>()
    await sendDue(service.job_parts)
    await receiver.waitFor(1)
    await post(`/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`)
    await sendDue(service.job_parts)
    await receiver.waitFor(2)
    answers[0]?.(500)
    answers[1]?.(200)
    await service.work()
    const { status, attempt, attempts } = await read(webhook.id, id)
    assert.deepEqual([status, attempt], ['delivered', 2])
    assert.deepEqual(attempts?.map(({ response_status }) => response_status).toSorted(), [200, 500])
  })
})

describe('a delivery that was sent more often than can be counted', () => {
  it('is sent once more, and holds up no result of others', async () => {
    const service = await createWebhookService()
    const often = await service.owner()
    const other = await service.owner()
    const sent = await often.post(`/v1/webhooks/${often.webhook.id}/test`)
    const { id } = sent.json<{ id: string }>()
    await service.work()
    await sql(service.database_url, 'update webhook_delivery set attempts = 32767')
    await often.post(`/v1/webhooks/${often.webhook.id}/deliveries/${id}/redeliver`)
    await other.post(`/v1/webhooks/${other.webhook.id}/test`)
    await service.work()
    assert.equal((await often.read(often.webhook.id, id)).status, 'delivered')
    const { deliveries } = await other.list(other.webhook.id)
    assert.equal(deliveries[0]?.status, 'delivered')
  })
})

describe('a result that the database refuses', () => {
  it('is given up alone: the others are written', async () => {
    const service = await createWebhookService()
    const odd = await service.owner()
    const other = await service.owner()
    await sql(
      service.database_url,
      'alter table webhook_attempt add constraint no_teapots check (response_status <> 418)',
    )
    odd.receiver.answerWith((response) => response.writeHead(418).end())
    await odd.post(`/v1/webhooks/${odd.webhook.id}/test`)
    await other.post(`/v1/webhooks/${other.webhook.id}/test`)
    await service.work()
    const { deliveries } = await other.list(other.webhook.id)
    assert.equal(deliveries[0]?.status, 'delivered')
    assert.ok(service.log_lines.some((line) => line.includes('cannot be written')))
  })
})
