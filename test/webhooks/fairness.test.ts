// Many receivers that are slow, dead or have a long queue must not keep the others waiting.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deriveId } from '../../src/events/event-types.ts'
import { mintId } from '../../src/platform/tokens.ts'
import type { Dispatcher } from '../../src/webhooks/dispatcher.ts'
import { mintWebhookSecret } from '../../src/webhooks/signature.ts'
import { eventually } from '../support/eventually.ts'
import { startReceiver } from '../support/receiver.ts'
import { createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()
const { dispatcher, secret_box } = service.parts
// A stall of this process would make it drop what waits.
await service.parts.feed.stop()

function target(url: string) {
  const id = mintId()
  const secret = secret_box.seal(mintWebhookSecret(), id)
  return { id, url, secret, previous_secret: null, previous_secret_until: null }
}

function offer(to: Parameters<Dispatcher['offer']>[1], count: number) {
  for (let number = 0; number < count; number++) {
    const created_at = new Date()
    const id = deriveId(created_at, mintId())
    const event = { event_id: id, event_type: 'usage.completed', body: '{}' }
    const delivery = { id, created_at, webhook_id: to.id, attempts: 0, retries_left: 3, ...event }
    dispatcher.offer(delivery, to)
  }
}

/** Answers every request to /slow after a while with this status, and all others at once. */
async function startSlowReceiver(status: number, wait_ms: number) {
  const { url, received } = await startReceiver((request, response) => {
    const answer = () => response.writeHead(request.url === '/slow' ? status : 200).end()
    if (request.url === '/slow') setTimeout(answer, wait_ms)
    else answer()
  })
  const at = (path: string) => new URL(path, url).href
  return { slow: at('/slow'), quick: at('/quick'), received }
}

async function slowOnesBefore(received: readonly { path: string | undefined }[]) {
  await eventually(
    'the quick one is there',
    () => received.some(({ path }) => path === '/quick'),
    15_000,
  )
  return received.findIndex(({ path }) => path === '/quick')
}

describe('a webhook that works', () => {
  it('has its turn while others with long queues take every place', async () => {
    const { slow, quick, received } = await startSlowReceiver(200, 100)
    for (let index = 0; index < 40; index++) offer(target(slow), 60)
    await eventually('all places are taken', () => received.length >= 250, 15_000)
    const tried = received.length
    offer(target(quick), 3)
    const before = (await slowOnesBefore(received)) - tried
    assert.ok(before < 700, `${before} of ${2400 - tried} came first`)
    dispatcher.forgetAll()
    await eventually('it is idle', () => dispatcher.is_idle, 15_000)
  })

  it('does not wait for any of many that fail', async () => {
    const { slow, quick, received } = await startSlowReceiver(500, 400)
    const failing = Array.from({ length: 300 }, () => target(slow))
    for (const one of failing) offer(one, 4)
    await eventually('all have failed some times', () => received.length >= 1100, 15_000)
    await eventually('it is idle', () => dispatcher.is_idle, 15_000)
    for (const one of failing) offer(one, 4)
    const tried = received.length
    offer(target(quick), 3)
    const before = (await slowOnesBefore(received)) - tried
    assert.ok(before <= 256, `${before} of 1200 came first`)
    dispatcher.forgetAll()
    await eventually('it is idle', () => dispatcher.is_idle, 15_000)
  })
})
