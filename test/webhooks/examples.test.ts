// The receivers of examples/webhooks, started as somebody would start them, and sent real deliveries.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { isFromSvc, isRecentFromSvc } from '../../examples/webhooks/signature.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { launch, ROOT } from '../support/service.ts'
import { createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()

/** A webhook whose secret is known before its address is. */
async function newWebhook() {
  const developer = await service.register()
  const { client_id } = await createOAuthApp(service, developer)
  const { key } = await service.createKey(developer.bearer)
  const receiver = await startEventReceiver()
  const webhook = await service.subscribe(developer, { client_id, url: receiver.url })
  return { key, receiver, webhook, ...service.manage(developer) }
}

type Headers = Record<string, string>

async function send(url: string, headers: Headers, body: string): Promise<number> {
  const { 'content-length': _, host: __, connection: ___, ...rest } = headers
  return (await fetch(url, { method: 'POST', headers: rest, body })).status
}

for (const name of ['node-http', 'fastify']) {
  test(`${name}: takes each event once, and nothing that is not signed`, async () => {
    const { key, receiver, webhook, ask, list, post } = await newWebhook()
    const file = path.join(ROOT, 'examples/webhooks', `${name}.ts`)
    const program = launch([process.execPath, file], { WEBHOOK_SECRET: webhook.secret })
    const address = () => /^Waiting at (http\S+)$/m.exec(program.stdout())?.[1]
    await eventually('it waits', () => (address() ?? program.ended()) !== undefined, 30_000)
    const url = address() ?? assert.fail(program.output())
    const taken = () => program.stdout().match(/^usage\.completed evt_/gm)?.length ?? 0

    await service.call(key)
    await service.work()
    const [{ headers, body } = assert.fail()] = receiver.of('usage.completed')
    await ask('PATCH', `/v1/webhooks/${webhook.id}`, { url, events: ['usage.completed'] })
    await service.call(key)
    await service.work()
    const [delivery] = (await list(webhook.id)).deliveries
    assert.deepEqual([delivery?.outcome, delivery?.response_status], ['delivered', 200])
    await eventually('it was taken', () => taken() === 1)

    await post(`/v1/webhooks/${webhook.id}/deliveries/${delivery?.id}/redeliver`)
    await service.work()
    const [again] = (await list(webhook.id)).deliveries
    assert.deepEqual([again?.attempt, again?.response_status], [2, 200])

    const good = headers as Headers
    const { 'webhook-signature': signature = '', ...unsigned } = good
    const other = signature.replace(/.{3}=$/, 'AAA=')
    assert.equal(await send(url, unsigned, body), 401, 'no signature')
    assert.equal(await send(url, { ...good, 'webhook-signature': other }, body), 401, 'another')
    assert.equal(await send(url, good, body.replace('"credits_used":', '"credits_used":9')), 401)
    assert.equal(await send(url, good, `${body} `), 401, 'one space more')
    assert.equal(await send(url, { ...good, 'webhook-timestamp': '1700000000' }, body), 401, 'old')
    assert.equal(taken(), 1)
    assert.equal(await send(url, good, body), 200)
    await eventually('the good one was taken', () => taken() === 2)
    assert.equal(program.stderr(), '')
    await program.stop()
  })
}

test('signature.ts: either signature is enough, with the old secret and with the new one', async () => {
  const { key, receiver, webhook, post } = await newWebhook()
  const rotated = await post(`/v1/webhooks/${webhook.id}/rotate-secret`, { overlap_seconds: 60 })
  const { secret: new_secret } = rotated.json<{ secret: string }>()
  await service.call(key)
  await service.work()
  assert.equal(receiver.received.length, 2)
  for (const { body, headers } of receiver.received) {
    const bytes = Buffer.from(body)
    for (const isSigned of [isFromSvc, isRecentFromSvc]) {
      assert.ok(isSigned(bytes, headers, webhook.secret))
      assert.ok(isSigned(bytes, headers, new_secret))
      assert.ok(!isSigned(bytes, headers, new_secret.replace(/.{3}=$/, 'AAA=')))
      assert.ok(!isSigned(Buffer.from(`${body}\n`), headers, new_secret))
      assert.ok(!isSigned(bytes, {}, new_secret))
    }
  }
})
