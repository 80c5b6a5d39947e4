// The long run: hostile registrations and sign-ins from thousands of addresses, while honest people sign in. With SVC_LONG
// at full size, else a two-hundredth of it: `node test/run.ts --long trust/siege`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'

const LONG = process.env['SVC_LONG'] === '1'
const SIZE = LONG ? 1 : 200
const HOSTILE_REGISTRATIONS = 10_000 / SIZE
const HOSTILE_SIGN_INS = 100_000 / SIZE
const HOSTILE_ADDRESSES = 5_000 / SIZE
const HONEST = LONG ? 50 : 5
/** Hostile requests under way at a time: in the long run more than the queues of hashing hold. */
const AT_ONCE = LONG ? 500 : 50
/** Of the heap at half time; a small heap is noise. */
const GROWTH_MAX = 0.1
const NOISE_BYTES = 20_000_000

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

test('honest people sign in during a siege, none is refused, and memory stays', async (t) => {
  const service = await createApp({
    settings: {
      RATE_LIMIT_PER_MINUTE: '100',
      REGISTER_LIMIT_PER_MINUTE: '3',
      LOGIN_LIMIT_PER_MINUTE: '5',
    },
  })
  const people = await settle(service)
  const siege = { open: true }
  const honest = people.map((person) => keepSigningIn(service, person, siege))
  const tally = new Map<number, number>()
  const heaps: number[] = []
  for (const half of [0, 1]) {
    await attack(service, half, tally)
    collect()
    heaps.push(process.memoryUsage().heapUsed)
  }
  siege.open = false
  const statuses = (await Promise.all(honest)).flat()
  t.diagnostic(`hostile: ${JSON.stringify(Object.fromEntries(tally))}`)
  t.diagnostic(`honest: ${statuses.length} sign-ins; heap ${heaps.map(inMegabytes).join(' → ')} MB`)
  assert.ok(statuses.length >= people.length)
  assert.deepEqual(
    statuses.filter((status) => status !== 200),
    [],
  )
  const [middle = 0, end = 0] = heaps
  assert.ok(end <= middle * (1 + GROWTH_MAX) + (LONG ? 0 : NOISE_BYTES), heaps.join(' → '))
})

type Person = { email: string; address: string; cookie: string }

/** Honest people had accounts before; each has an address. Every other one has lost the cookie. */
async function settle(service: TestApp): Promise<Person[]> {
  const people: Person[] = []
  for (let i = 0; i < HONEST; i++) {
    const email = `honest-${i}@x.test`
    // Each in a network of its own: those of one have a budget together.
    const address = `${20 + i}.0.113.1`
    const reply = await post(service, '/auth/register', { email, address })
    assert.equal(reply.statusCode, 201, reply.body)
    const cookies = [reply.headers['set-cookie']].flat().map(String)
    const device = cookies.find((one) => one.startsWith('svc_device='))?.split(';')[0] ?? ''
    people.push({ email, address, cookie: i % 2 === 0 ? device : '' })
  }
  return people
}

async function keepSigningIn(service: TestApp, person: Person, siege: { open: boolean }) {
  const statuses: number[] = []
  // Without the cookie an address has five sign-ins a minute.
  const pause_ms = person.cookie === '' ? 15_000 : 250
  let next = 0
  while (siege.open) {
    if (Date.now() >= next) {
      next = Date.now() + pause_ms
      statuses.push((await post(service, '/auth/login', person)).statusCode)
    }
    await setTimeout(50)
  }
  return statuses
}

/** Half of it: sign-ins at honest and at invented accounts, a registration to every ten of them. */
async function attack(service: TestApp, half: number, tally: Map<number, number>): Promise<void> {
  const [from, to] = [(half * HOSTILE_SIGN_INS) / 2, ((half + 1) * HOSTILE_SIGN_INS) / 2]
  let next = from
  const note = ({ statusCode }: { statusCode: number }) =>
    tally.set(statusCode, (tally.get(statusCode) ?? 0) + 1)
  const attacker = async () => {
    while (next < to) {
      const i = next++
      // As a socket would: refusals from memory, one after the other, would keep everybody else's input waiting.
      await setImmediate()
      const address = hostileAddress(i % HOSTILE_ADDRESSES)
      const email = i % 2 === 0 ? `honest-${i % HONEST}@x.test` : `nobody-${i}@x.test`
      note(await post(service, '/auth/login', { email, address, password: `guess ${i}` }))
      if (i % (HOSTILE_SIGN_INS / HOSTILE_REGISTRATIONS) !== 0) continue
      note(await post(service, '/auth/register', { email: `sybil-${i}@x.test`, address }))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, attacker))
}

/** 256 to a /24. */
function hostileAddress(index: number): string {
  return `198.${18 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`
}

function post(
  service: TestApp,
  url: string,
  given: { email: string; address: string; cookie?: string; password?: string },
) {
  const { email, address, cookie = '', password = PASSWORD } = given
  return service.app.inject({
    method: 'POST',
    url,
    remoteAddress: address,
    headers: cookie === '' ? {} : { cookie },
    payload: { email, password },
  })
}

function inMegabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1)
}
