// What happens at the same moment: events that commit while the outbox is read, and attempts that end together.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { fanOut } from '../../src/webhooks/fan-out.ts'
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
