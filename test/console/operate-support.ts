// A service with something to operate: people who call, an app, webhooks that fail, developers who are due.

import assert from 'node:assert/strict'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import { keepWebhookLog, sendDue } from '../../src/webhooks/jobs.ts'
import { DAY, earn, makeDeveloper, standInAt } from '../payouts/support.ts'
import type { TestApp } from '../support/app.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { createOAuthApp } from '../support/oauth.ts'
import type { openConsole } from './support.ts'

export type Stage = Awaited<ReturnType<typeof openConsole>>

/** The browser of an operator who has just signed in. */
export async function operate(stage: Stage | undefined) {
  assert.ok(stage, 'there is no browser')
  const operator = await stage.register()
  await stage.makeOperator(operator)
  const visit = await stage.visit(operator)
  const read = async <Body>(url: string): Promise<Body> => {
    const reply = await stage.request({ url, headers: operator.bearer })
    assert.equal(reply.statusCode, 200, reply.body)
    return reply.json<Body>()
  }
  return { ...visit, stage, operator, read }
}

/** Somebody with a key, an app, one call that worked and one that was refused. */
export async function makeCustomer(service: TestApp, email?: string) {
  const person = await service.register(email)
  const { key, id: key_id } = await service.createKey(person.bearer, { name: 'production' })
  const app = await createOAuthApp(service, person)
  const call = (model: string) =>
    service.post(
      '/v1/chat/completions',
      { model, messages: [{ role: 'user', content: 'Say hello.' }] },
      { 'x-api-key': key },
    )
  assert.equal((await call('gpt-4o-mini')).statusCode, 200)
  assert.equal((await call('no-such-model')).statusCode, 404)
  await service.parts.failed_calls.flush(service.parts.db)
  return { ...person, key, key_id, app, call }
}

/** Their page as operators read it. */
export type Standing = { state: string; balance_credits: number; suspended_reason: string | null }

/** A developer who is due nine tenths of it; the rest is the reserve. */
export async function makeDue(service: TestApp, credits: bigint): Promise<string> {
  const { parts, clock, sandbox } = service
  const developer = await makeDeveloper(parts.db, standInAt(sandbox.urls.stripe))
  const at = new Date(clock.now().getTime() - 8 * DAY)
  await earn(parts.db, developer, { amounts: [credits], at })
  return developer
}

/** A webhook whose test event was refused once. */
export async function makeFailingWebhook(service: TestApp) {
  const { parts } = service
  const job_parts = { ...parts, wakeMailSender: () => {} }
  await keepWebhookLog(parts)
  const developer = await service.register()
  const { client_id } = await createOAuthApp(service, developer)
  const receiver = await startEventReceiver((response) => response.writeHead(500).end('no'))
  const wanted = { client_id, url: receiver.url, events: ['usage.completed'] }
  const made = await service.post('/v1/webhooks', wanted, developer.bearer)
  assert.equal(made.statusCode, 201, made.body)
  const { id } = made.json<{ id: string }>()
  await service.post(`/v1/webhooks/${id}/test`, {}, developer.bearer)
  await fanOut(job_parts)
  await sendDue(job_parts)
  await eventually('the dispatcher is idle', () => parts.dispatcher.is_idle, 15_000)
  return { id, url: receiver.url, developer }
}
