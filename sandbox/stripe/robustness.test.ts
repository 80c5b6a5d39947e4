import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { objectOf, parseJson } from '../json.ts'
import { ROUTES } from './routes.ts'
import { KEY, type Platform, seedAccount, startPlatform } from './test-platform.ts'

const RUNS = { numRuns: 150, seed: 20_261_116 }
let platform: Platform

before(async () => {
  platform = await startPlatform()
})
after(async () => {
  await platform.close()
})

const PARTS = ['', '0', '1', 'a', '__proto__', 'constructor', 'transfers', 'requested', 'payer']
const VALUES = [
  '',
  'true',
  '0',
  '-1',
  '1.5',
  '1e9',
  '99999999999999999999',
  'usd',
  'http://a',
  '€',
  '\u0000',
]
const names = fc.constantFrom(
  ...new Set(['__proto__', 'expand', ...ROUTES.flatMap(({ fields }) => Object.keys(fields))]),
)
const paths = fc.array(fc.constantFrom(...PARTS), { maxLength: 4 })
const field = fc.tuple(names, paths, fc.oneof(fc.constantFrom(...VALUES), fc.string()))
const form = fc.array(field, { maxLength: 8 }).map((fields) =>
  fields
    .map(([name, path, value]) => {
      const brackets = path.map((part) => `[${part}]`).join('')
      return `${encodeURIComponent(name + brackets)}=${encodeURIComponent(value)}`
    })
    .join('&'),
)

test('no parameters, however wrong, make the API fail: it says in Stripe’s words what is wrong', async () => {
  const account = await seedAccount(platform)
  const route = fc.constantFrom(...ROUTES)
  await fc.assert(
    fc.asyncProperty(route, form, async ({ method, parts }, params) => {
      const path = parts.map((part) => (part.startsWith(':') ? account : part)).join('/')
      const in_query = method === 'GET' ? `?${params}` : ''
      const response = await fetch(`${platform.sandbox.urls.stripe}${path}${in_query}`, {
        method,
        headers: {
          authorization: `Bearer ${KEY}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        ...(method === 'POST' && { body: params }),
      })
      const body = objectOf(parseJson(await response.text()))
      assert.ok(response.status < 500, `${method} ${path} ${params}`)
      assert.equal('error' in body, response.status >= 400)
    }),
    RUNS,
  )
})

test('no form, however wrong, makes a page fail', async () => {
  const { stripe } = platform
  await fc.assert(
    fc.asyncProperty(form, async (body) => {
      const session = await stripe.checkout.sessions.create({
        mode: 'setup',
        currency: 'usd',
        success_url: 'http://127.0.0.1:1/',
      })
      const response = await fetch(session.url ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
        redirect: 'manual',
      })
      await response.arrayBuffer()
      assert.ok(response.status < 500)
    }),
    { ...RUNS, numRuns: 30 },
  )
})

test('no JSON, however wrong, makes the control API fail', async () => {
  const base = `${platform.sandbox.urls.stripe}/_sandbox/stripe`
  const targets = ['/faults', '/seed', '/balance', '/settings', '/webhooks', '/events', '/disputes']
  const names = [
    'accounts',
    'customers',
    'amount',
    'faults',
    'url',
    'events',
    'type',
    'object',
    'copies',
  ]
  const value = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 3,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...targets),
      fc.oneof(value, fc.jsonValue()),
      async (target, body) => {
        const response = await fetch(`${base}${target}`, {
          method: 'POST',
          body: JSON.stringify(body),
        })
        assert.ok(
          response.status < 500,
          `${target} ${JSON.stringify(body)}: ${await response.text()}`,
        )
      },
    ),
    RUNS,
  )
  const nothing = await fetch(`${base}/nothing`)
  assert.equal(nothing.status, 404)
})
