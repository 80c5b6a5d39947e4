// A console with webhooks whose background work runs when a test says so, and a developer who has one.

import assert from 'node:assert/strict'
import { type EventReceiver, startEventReceiver } from '../support/event-receiver.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { startWebhookWork } from '../support/webhooks.ts'
import { setLedgerTime } from '../wallet/support.ts'
import { openConsole } from './support.ts'

export type WebhookStage = Awaited<ReturnType<typeof openWebhookStage>>

export async function openWebhookStage() {
  const stage = await openConsole()
  const { work } = await startWebhookWork(stage)
  /** The work of later, as far as it is due by then. */
  const workLater = async (ms: number) => {
    const setTime = (at: number) => setLedgerTime(stage.database_url, new Date(at))
    const now = Date.now()
    await setTime(now + ms)
    await work()
    await setTime(now)
  }
  return { ...stage, work, workLater }
}

/** A developer with an app, and with a webhook to a receiver that works, unless none is wanted. */
export async function arriveAt(
  service: WebhookStage | undefined,
  options: { with_webhook: boolean } = { with_webhook: true },
) {
  if (!service) throw new Error('there is no browser')
  const person = await service.register()
  const app = await createOAuthApp(service, person)
  const receiver = await startEventReceiver()
  const wanted = { client_id: app.client_id, url: receiver.url, events: ['usage.completed'] }
  const made = options.with_webhook
    ? (await service.post('/v1/webhooks', wanted, person.bearer)).json<{ id: string }>()
    : { id: '' }
  const { key } = await service.createKey(person.bearer, { client_id: app.client_id })
  const call = async () => {
    const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }
    const headers = { authorization: `Bearer ${key}` }
    assert.equal((await service.post('/v1/chat/completions', body, headers)).statusCode, 200)
    await service.work()
  }
  const visit = await service.visit(person)
  const webhook = { id: made.id, path: `/webhooks/${made.id}` }
  return { ...visit, service, person, app, receiver, webhook, call }
}

export function failFromNowOn(receiver: EventReceiver): void {
  receiver.answerWith((response) => {
    response.statusCode = 500
    response.end('out of order')
  })
}
