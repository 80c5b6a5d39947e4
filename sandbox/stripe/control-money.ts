// What a test can do that Stripe, banks or people would do: set the balance, move time, decide about
// an account, dispute a charge, pay a session without a browser.

import { isObject, type JsonObject, listOf, textOf } from '../json.ts'
import { applyOutcome, deauthorize, OUTCOMES, setOutcome } from './account-outcome.ts'
import { createAccount, findAccount } from './accounts.ts'
import { findCard, TEST_CARDS } from './cards.ts'
import { pay } from './checkout-payment.ts'
import { findSession } from './checkout-sessions.ts'
import {
  type ControlCall,
  type ControlRoute,
  choiceField,
  control,
  textField,
  wholeField,
} from './control-call.ts'
import { createCustomer, createMethod, saveMethod } from './customers.ts'
import { closeDispute, findDispute, openDispute, reinstateLost } from './disputes.ts'
import { badRequest } from './errors.ts'
import { findIntent } from './payment-intents.ts'
import { failRefund, findCharge } from './refunds.ts'
import { resetState, type State } from './state.ts'

const MAX_SEEDED = 100_000
const MOST_CENTS = 1_000_000_000_000
const MOST_SECONDS = 10_000_000_000

export const MONEY_ROUTES: readonly ControlRoute[] = [
  control(
    'POST',
    '/reset',
    (state, { body }) => {
      resetState(state, textField(body, 'seed') ?? state.seed)
      return { reset: true, seed: state.seed }
    },
    ['seed'],
  ),
  control('POST', '/seed', seed, ['accounts', 'customers']),
  control(
    'POST',
    '/balance',
    ({ world }, { body }) => {
      const currency = textField(body, 'currency')?.toLowerCase() ?? 'usd'
      world.platform.available.set(currency, wholeField(body, 'amount', { max: MOST_CENTS }))
      return { currency, amount: world.platform.available.of(currency) }
    },
    ['amount', 'currency'],
  ),
  control('GET', '/clock', describeClock),
  control('POST', '/clock', moveClock, ['advance_s', 'now', 'stopped']),
  control(
    'POST',
    '/settings',
    ({ world }, { body }) => {
      const settle_after_s = wholeField(body, 'settle_after_s', { max: MOST_SECONDS })
      world.platform.settle_after_s = settle_after_s
      return { settle_after_s }
    },
    ['settle_after_s'],
  ),
  control(
    'POST',
    '/accounts/:id',
    ({ world }, { ids, body }) => {
      const row = findAccount(world, ids['id'] ?? '')
      setOutcome(
        world,
        row,
        choiceField(body, 'outcome', OUTCOMES),
        textField(body, 'disabled_reason'),
      )
      return row.account
    },
    ['outcome', 'disabled_reason'],
  ),
  control('POST', '/accounts/:id/deauthorize', ({ world }, { ids }) => {
    const row = findAccount(world, ids['id'] ?? '')
    deauthorize(world, row)
    return { id: row.id, deauthorized: true }
  }),
  control('POST', '/disputes', dispute, ['charge', 'payment_intent', 'reason', 'amount']),
  control(
    'POST',
    '/disputes/:id/close',
    ({ world }, { ids, body }) => {
      const found = findDispute(world, ids['id'] ?? '')
      return closeDispute(world, found, choiceField(body, 'outcome', ['won', 'lost']))
    },
    ['outcome'],
  ),
  control(
    'POST',
    '/disputes/:id/reinstate',
    ({ world }, { ids, body }) => {
      const found = findDispute(world, ids['id'] ?? '')
      const amount = wholeField(body, 'amount', { fallback: found.amount, max: found.amount })
      return reinstateLost(world, found, amount)
    },
    ['amount'],
  ),
  control('POST', '/refunds/:id/fail', ({ world }, { ids }) => failRefund(world, ids['id'] ?? '')),
  control('POST', '/checkout/:id/pay', paySession, ['card', 'email']),
]

function describeClock({ clock }: State): object {
  const now = clock.nowSeconds()
  return { now, iso: new Date(clock.nowMs()).toISOString(), stopped: clock.isStopped() }
}

function moveClock(state: State, { body }: ControlCall): object {
  const { clock, world } = state
  const stopped = body['stopped'] === undefined ? clock.isStopped() : body['stopped'] === true
  const now_ms = readMoment(body) ?? clock.nowMs()
  clock.set(now_ms, stopped)
  clock.advance(wholeField(body, 'advance_s', { fallback: 0, max: MOST_SECONDS }) * 1000)
  world.schedule.runDue()
  return describeClock(state)
}

/** Unix seconds, or a date that JavaScript reads. */
function readMoment(body: JsonObject): number | undefined {
  const { now } = body
  if (now === undefined) return undefined
  const moment_ms = typeof now === 'number' ? now * 1000 : Date.parse(textOf(now))
  if (Number.isNaN(moment_ms))
    throw badRequest('now: seconds since 1970, or a date', { param: 'now' })
  return moment_ms
}

/** Accounts and customers that were there before the test began: no events are sent for them. */
function seed(state: State, { body }: ControlCall): object {
  const wishes = readWishes(body['accounts'])
  const customers = readWishes(body['customers'])
  return state.world.events.quietly(() => ({
    accounts: wishes.map((wish) => seedAccount(state, wish)),
    customers: customers.map((wish) => seedCustomer(state, wish)),
  }))
}

function readWishes(value: unknown): readonly JsonObject[] {
  const wishes =
    typeof value === 'number'
      ? Array.from({ length: Math.min(value, MAX_SEEDED) }, () => ({}))
      : listOf(value)
  return wishes.slice(0, MAX_SEEDED).filter(isObject)
}

function seedAccount({ world }: State, wish: JsonObject): string {
  const outcome =
    wish['outcome'] === undefined ? 'complete' : choiceField(wish, 'outcome', OUTCOMES)
  const row = createAccount(world, {
    type: 'express',
    capabilities: { transfers: { requested: 'true' } },
    country: textField(wish, 'country'),
    email: textField(wish, 'email'),
    metadata: isObject(wish['metadata']) ? wish['metadata'] : {},
  })
  applyOutcome(row.account, outcome, world.clock.nowSeconds())
  return row.id
}

function seedCustomer({ world }: State, wish: JsonObject): object {
  const card = findCard({ name: textField(wish, 'card') ?? 'visa' })
  if (card === undefined) throw unknownCard()
  const customer = createCustomer(world, { email: textField(wish, 'email') })
  const method = createMethod(world, card)
  saveMethod(world, method, customer.id)
  return { id: customer.id, payment_method: method.id }
}

function dispute({ world }: State, { body }: ControlCall): object {
  const intent = textField(body, 'payment_intent')
  const id =
    intent === undefined ? textField(body, 'charge') : findIntent(world, intent).latest_charge
  const charge = findCharge(world, id ?? '')
  if (charge.status !== 'succeeded' || charge.disputed) {
    throw badRequest('Only a charge that succeeded and is not disputed can be disputed.')
  }
  const open = charge.amount - charge.amount_refunded
  const amount = wholeField(body, 'amount', { fallback: open, max: charge.amount })
  return openDispute(world, charge, textField(body, 'reason') ?? 'fraudulent', amount)
}

function paySession({ world }: State, { ids, body }: ControlCall): object {
  const row = findSession(world, ids['id'] ?? '')
  const card = findCard({ name: textField(body, 'card') ?? 'visa' })
  if (card === undefined) throw unknownCard()
  if (row.session.status !== 'open') throw badRequest(`The session is ${row.session.status}.`)
  const email = textField(body, 'email') ?? row.session.customer_email ?? 'customer@example.com'
  const declined = pay(world, row, { card, email })
  return { declined: declined ?? null, session: row.session }
}

function unknownCard() {
  return badRequest(`card: one of ${TEST_CARDS.map(({ name }) => name).join(', ')}`, {
    param: 'card',
  })
}
