// What the service does by itself: switches off what only fails, and rotates secrets without breaking a receiver.

import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import { sendDue, switchOffDeadWebhooks } from '../../src/webhooks/jobs.ts'
import { resealSecrets } from '../../src/webhooks/reseal.ts'
import { sendQueuedMail } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createWebhookService, type WebhookReply } from '../support/webhooks.ts'

const service = await createWebhookService()

/** Counts of attempts as if they had been made `hours` ago. */
async function note(
  webhook: WebhookReply,
  hours: number,
  counts: { delivered?: number; failed?: number },
) {
  const id = webhook.id.slice('wh_'.length)
  const { delivered = 0, failed = 0 } = counts
  await sql(
    service.database_url,
    `insert into webhook_stat (webhook_id, half_hour, delivered, failed, failed_events, durations)
     values ($1::uuid, date_bin('30 minutes', now() - $2::integer * interval '1 hour', '2000-01-01Z'), $3, $4, $4,
       array_fill(0, array[28]))`,
    [id, hours, delivered, failed],
  )
  await setBack(id, 240)
}

/** As if it had been made, or switched on, so long ago. */
async function setBack(id: string, hours: number) {
  await sql(
    service.database_url,
    `update webhook
     set active_since = now() - $2::integer * interval '1 hour', judged_since = now() - $2::integer * interval '1 hour'
     where id = $1::uuid`,
    [id, hours],
  )
}

async function isActive(
  owner: { ask: (method: 'GET', url: string) => ReturnType<typeof service.request> },
  id: string,
) {
  return (await owner.ask('GET', `/v1/webhooks/${id}`)).json<{ active: boolean }>().active
}

describe('a webhook that only failed', () => {
  it('for three days, with 20 events, is switched off and its owner is told by mail', async () => {
    const dead = await service.owner()
    await note(dead.webhook, 73, { failed: 10 })
    await note(dead.webhook, 1, { failed: 10 })
    await switchOffDeadWebhooks(service.job_parts)
    assert.equal(await isActive(dead, dead.webhook.id), false)
    const { switched_off_at } = (await dead.ask('GET', `/v1/webhooks/${dead.webhook.id}`)).json<{
      switched_off_at: string | null
    }>()
    assert.ok(switched_off_at)
    await sendQueuedMail(service)
    const folder = path.join(service.data_dir, 'mail')
    const mails = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8'))
    const told = mails.filter(
      (mail) => mail.includes(dead.developer.email) && mail.includes('switched'),
    )
    assert.equal(told.length, 1)
    // Once: the next look finds it off.
    await switchOffDeadWebhooks(service.job_parts)
    await sendQueuedMail(service)
    assert.equal(readdirSync(folder).length, mails.length)
  })

  it('for less time, of fewer events, or not only, stays on', async () => {
    const short = await service.owner()
    await note(short.webhook, 71, { failed: 1000 })
    const few = await service.owner()
    await note(few.webhook, 73, { failed: 10 })
    await note(few.webhook, 1, { failed: 9 })
    const mixed = await service.owner()
    await note(mixed.webhook, 100, { failed: 50 })
    await note(mixed.webhook, 50, { delivered: 1, failed: 50 })
    await note(mixed.webhook, 1, { failed: 50 })
    const again = await service.owner()
    await note(again.webhook, 100, { failed: 50 })
    await again.ask('PATCH', `/v1/webhooks/${again.webhook.id}`, { active: false })
    await again.ask('PATCH', `/v1/webhooks/${again.webhook.id}`, { active: true })
    await switchOffDeadWebhooks(service.job_parts)
    for (const owner of [short, few, mixed, again]) {
      assert.equal(await isActive(owner, owner.webhook.id), true)
    }
  })

  it('before it was switched on again, or at another address, stays on', async () => {
    const again = await service.owner()
    const moved = await service.owner()
    for (const { webhook } of [again, moved]) await note(webhook, 100, { failed: 50 })
    await again.ask('PATCH', `/v1/webhooks/${again.webhook.id}`, { active: false })
    await again.ask('PATCH', `/v1/webhooks/${again.webhook.id}`, { active: true })
    // And then nothing happens for three days.
    const id = again.webhook.id.slice('wh_'.length)
    await sql(
      service.database_url,
      `update webhook_stat set half_hour = half_hour - interval '73 hours' where webhook_id = $1::uuid`,
      [id],
    )
    await setBack(id, 73)
    await moved.ask('PATCH', `/v1/webhooks/${moved.webhook.id}`, { url: `${moved.webhook.url}new` })
    await switchOffDeadWebhooks(service.job_parts)
    for (const owner of [again, moved]) {
      assert.equal(await isActive(owner, owner.webhook.id), true)
    }
  })
})

describe('a secret that is replaced', () => {
  it('signs beside the old one until the overlap ends, and then alone', async () => {
    const { webhook, receiver, post, ask } = await service.owner()
    const rotated = await post(`/v1/webhooks/${webhook.id}/rotate-secret`)
    assert.equal(rotated.statusCode, 200)
    const next = rotated.json<{ secret: string; previous_secret_until: string }>()
    const overlap_ms = Date.parse(next.previous_secret_until) - Date.now()
    assert.ok(Math.abs(overlap_ms - 86_400_000) < 60_000)
    const deliver = async () => {
      await post(`/v1/webhooks/${webhook.id}/test`)
      await service.work()
      const got = receiver.received.at(-1)
      assert.ok(got)
      const sign = (secret: string) => createHmac('sha256', secret).update(got.body).digest('hex')
      const verify = (secret: string) =>
        new Webhook(secret).verify(got.body, got.headers as Record<string, string>)
      return { headers: got.headers, sign, verify }
    }
    const both = await deliver()
    assert.equal(both.headers['x-svc-signature'], both.sign(webhook.secret))
    assert.equal(both.headers['x-svc-signature-next'], both.sign(next.secret))
    both.verify(webhook.secret)
    both.verify(next.secret)
    const ended = await ask('DELETE', `/v1/webhooks/${webhook.id}/previous-secret`)
    assert.equal(ended.json<{ previous_secret_until: null }>().previous_secret_until, null)
    const alone = await deliver()
    assert.equal(alone.headers['x-svc-signature'], alone.sign(next.secret))
    assert.equal(alone.headers['x-svc-signature-next'], undefined)
    alone.verify(next.secret)
    assert.throws(() => alone.verify(webhook.secret))
  })

  it('ends the old one at once where no overlap is wanted', async () => {
    const { webhook, receiver, post } = await service.owner()
    const rotated = await post(`/v1/webhooks/${webhook.id}/rotate-secret`, { overlap_seconds: 0 })
    const { secret } = rotated.json<{ secret: string }>()
    await post(`/v1/webhooks/${webhook.id}/test`)
    await service.work()
    const got = receiver.received.at(-1)
    assert.ok(got)
    const expected = createHmac('sha256', secret).update(got.body).digest('hex')
    assert.equal(got.headers['x-svc-signature'], expected)
  })
})

describe('the key that seals secrets', () => {
  it('is replaced: what an older one sealed is sealed anew, and still signs', async () => {
    const [older, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'))
    const SECRETS_KEY = `older:${older}`
    const before = await createWebhookService({ settings: { SECRETS_KEY } })
    const { webhook, receiver, developer } = await before.owner()
    const { database_url } = before
    const between = await createWebhookService({
      database_url,
      settings: { SECRETS_KEY: `newer:${newer},older:${older}` },
    })
    await resealSecrets(between.parts)
    await between.close()
    const after = await createWebhookService({
      database_url,
      settings: { SECRETS_KEY: `newer:${newer}` },
    })
    await after.manage(developer).post(`/v1/webhooks/${webhook.id}/test`)
    await after.work()
    const [got] = receiver.received
    assert.ok(got)
    new Webhook(webhook.secret).verify(got.body, got.headers as Record<string, string>)
    await after.close()
    await before.close()
  })
})

describe('a secret that the service cannot read', () => {
  it('is named in the log of the delivery, which is tried again', async () => {
    const { webhook, receiver, post, list } = await service.owner()
    await post(`/v1/webhooks/${webhook.id}/test`)
    await sql(
      service.database_url,
      `update webhook set secret = 'v1.lost.AAAA' where id = $1::uuid`,
      [webhook.id.slice('wh_'.length)],
    )
    await service.work()
    assert.equal(receiver.received.length, 0)
    const { deliveries } = await list(webhook.id)
    const [one] = deliveries
    assert.deepEqual([one?.outcome, one?.attempt, one?.response_status], ['not_sent', 1, 0])
    assert.match(one?.reason ?? '', /cannot read the secret/)
  })
})

describe('a receiver that never answers', () => {
  it('holds up no other, though 10,000 wait for it, and its deliveries are explained', async () => {
    const slow = await service.owner({ events: ['usage.completed'] })
    slow.receiver.answerWith(() => {})
    await sql(
      service.database_url,
      `insert into webhook_delivery (id, created_at, queued_at, due_at, status, retries_left, webhook_id, event_id,
         event_type, body)
       select gen_random_uuid(), date_trunc('milliseconds', now()), now(), now(), 'pending', 3, $1::uuid, gen_random_uuid(), 'usage.completed', '{}'
       from generate_series(1, 10000)`,
      [slow.webhook.id.slice('wh_'.length)],
    )
    await sendDue(service.job_parts)
    const quick = await service.owner({ events: ['balance.updated'] })
    const { key } = await service.createKey(quick.developer.bearer)
    for (let call = 0; call < 10; call++) {
      await service.call(key)
      await fanOut(service.job_parts)
      await sendDue(service.job_parts)
    }
    await quick.receiver.waitFor(10, 5_000)
    const { deliveries } = await slow.list(slow.webhook.id, '?limit=100')
    assert.ok(
      deliveries.every(({ attempt }) => attempt === 0),
      'the slow one has not answered yet',
    )
    // What waits in memory is let go; what is on its way is explained.
    await slow.ask('PATCH', `/v1/webhooks/${slow.webhook.id}`, { active: false })
    await eventually('idle', () => service.parts.dispatcher.is_idle, 15_000)
    const tried = await sql<{ outcome: string; reason: string }>(
      service.database_url,
      'select outcome, reason from webhook_attempt where outcome = $1',
      ['timeout'],
    )
    assert.ok(tried.length >= 1 && tried.length <= 64, String(tried.length))
    assert.match(tried[0]?.reason ?? '', /10 seconds|10 s/)
  })
})
