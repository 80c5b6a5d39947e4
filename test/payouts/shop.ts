// The application and the sandbox's Stripe, each told where the other is, over real sockets.

import assert from 'node:assert/strict'
import { startSandbox } from '../../sandbox/main.ts'
import { createApp, type TestApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'

export type Shop = Awaited<ReturnType<typeof openShop>>

/** A service that listens, with a Stripe of its own that sends its events there. */
export async function openShop(settings: Record<string, string> = {}) {
  const sandbox = await startSandbox({ port: 0 })
  atEnd(() => sandbox.close())
  const service = await createApp({
    settings: { STRIPE_BASE_URL: sandbox.urls.stripe, ...settings },
  })
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const control = async <Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: object,
  ): Promise<Body> => {
    const response = await fetch(`${sandbox.urls.stripe}/_sandbox/stripe${path}`, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text)
  }
  await control('POST', '/webhooks', { url: `${base}/webhooks/stripe` })
  return {
    service,
    base,
    sandbox,
    control,
    /** Resolves when every event has been sent and answered. */
    settle: () => control('POST', '/webhooks/wait', { timeout_ms: 10_000 }),
    fail: (path: string, fault: object, method = 'POST') =>
      control('POST', '/faults', { method, path, ...fault }),
    heal: () => control('DELETE', '/faults'),
  }
}

export type Person = Awaited<ReturnType<TestApp['register']>> & { cookie: Record<string, string> }

export async function registerPerson({ service }: Pick<Shop, 'service'>): Promise<Person> {
  const person = await service.register()
  return { ...person, cookie: { cookie: `svc_session=${person.token}` } }
}

export async function balanceOf({ service }: Pick<Shop, 'service'>, person: Person) {
  const reply = await service.request({ url: '/auth/me', headers: person.bearer })
  return reply.json<{ balance: number }>().balance
}
