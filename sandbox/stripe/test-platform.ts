// What the tests need to be a platform: the official client pointed at a sandbox, the control API, and
// a place that receives webhooks.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Stripe } from 'stripe'
import { isObject, type JsonObject, listOf, parseJson } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import type { StripeOptions } from './state.ts'

export const KEY = 'sk_test_platform'

export type Platform = {
  sandbox: Sandbox
  stripe: Stripe
  /** A client with other settings, such as a short timeout. */
  client(settings?: { timeout?: number; maxNetworkRetries?: number; key?: string }): Stripe
  control(method: string, path: string, body?: object): Promise<JsonObject>
  close(): Promise<void>
}

export async function startPlatform(options: StripeOptions = {}): Promise<Platform> {
  const sandbox = await startSandbox({ port: 0, stripe: options })
  const client: Platform['client'] = ({ key = KEY, maxNetworkRetries = 0, timeout = 5_000 } = {}) =>
    new Stripe(key, {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
      maxNetworkRetries,
      timeout,
    })
  return {
    sandbox,
    stripe: client(),
    client,
    async control(method, path, body) {
      const response = await fetch(`${sandbox.urls.stripe}/_sandbox/stripe${path}`, {
        method,
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      })
      const answer: unknown = parseJson(await response.text())
      assert.ok(isObject(answer))
      assert.equal(response.status, 200, JSON.stringify(answer))
      return answer
    },
    close: () => sandbox.close(),
  }
}

/** An account that can be paid. */
export async function seedAccount(platform: Platform, wish: object = {}): Promise<string> {
  const { accounts } = await platform.control('POST', '/seed', { accounts: [wish] })
  return String(listOf(accounts)[0])
}

export async function refusal(work: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  try {
    await work
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

export type Received = { body: string; signature: string; event: Stripe.Event }

/** A webhook endpoint that answers with the statuses given, then with 200. */
export async function startReceiver(...statuses: number[]) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const event: Stripe.Event = JSON.parse(body === '' ? '{}' : body)
      received.push({ body, signature: String(request.headers['stripe-signature']), event })
      response.writeHead(statuses.shift() ?? 200).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/webhooks/stripe`,
    received,
    types: () => received.map(({ event }) => event.type),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Waits for what happens by itself, for ten seconds at most. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('it never happened')
}
