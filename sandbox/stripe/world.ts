// Everything the stand-in knows, in memory, and the one way to tell the world outside about a change.
// Resetting makes a new world.

import { type Balances, createBalances } from './balances.ts'
import type { Clock } from './clock.ts'
import { createEventLog, type EventLog } from './event-log.ts'
import { createIds, type Ids } from './ids.ts'
import { createLinks, type Links } from './links.ts'
import type {
  Account,
  Charge,
  CheckoutSession,
  Customer,
  Dispute,
  Event,
  PaymentIntent,
  PaymentMethod,
  Refund,
  Reversal,
  SetupIntent,
  Transfer,
} from './objects.ts'
import { createSchedule, type Schedule } from './schedule.ts'
import { Table } from './table.ts'

/** What a platform may have on the first day: a million dollars. */
const DEFAULT_BALANCE_CENTS = 100_000_000
const DEFAULT_SETTLE_AFTER_S = 5

/** A connected account, and what its owner and not the platform sees. */
export type AccountRow = {
  id: string
  created: number
  account: Account
  available: Balances
  deauthorized: boolean
}

export type SessionRow = {
  id: string
  created: number
  session: CheckoutSession
  line_items: Record<string, unknown>[]
  /** What the payment that follows inherits. */
  payment: {
    metadata: Record<string, string>
    save: boolean
    description: string | null
    transfer_group: string | null
  }
}

export type World = {
  clock: Clock
  schedule: Schedule
  ids: Ids
  links: Links
  platform: { available: Balances; settle_after_s: number }
  accounts: Table<AccountRow>
  transfers: Table<Transfer>
  reversals: Table<Reversal>
  customers: Table<Customer>
  payment_methods: Table<PaymentMethod>
  payment_intents: Table<PaymentIntent>
  setup_intents: Table<SetupIntent>
  charges: Table<Charge>
  refunds: Table<Refund>
  disputes: Table<Dispute>
  sessions: Table<SessionRow>
  events: EventLog
}

export type WorldOptions = { clock: Clock; seed: string; onEvent: (event: Event) => void }

export function createWorld({ clock, seed, onEvent }: WorldOptions): World {
  const ids = createIds(seed)
  return {
    clock,
    schedule: createSchedule(clock),
    ids,
    links: createLinks(),
    platform: {
      available: createBalances({ usd: DEFAULT_BALANCE_CENTS }),
      settle_after_s: DEFAULT_SETTLE_AFTER_S,
    },
    accounts: new Table('account'),
    transfers: new Table('transfer', {
      destination: (row) => row.destination,
      transfer_group: (row) => row.transfer_group,
    }),
    reversals: new Table('transfer reversal', { transfer: (row) => row.transfer }),
    customers: new Table('customer'),
    payment_methods: new Table('PaymentMethod', { customer: (row) => row.customer }),
    payment_intents: new Table('payment_intent', { customer: (row) => row.customer }),
    setup_intents: new Table('setupintent'),
    charges: new Table('charge', {
      payment_intent: (row) => row.payment_intent,
      customer: (row) => row.customer,
    }),
    refunds: new Table('refund', {
      charge: (row) => row.charge,
      payment_intent: (row) => row.payment_intent,
    }),
    disputes: new Table('dispute', {
      charge: (row) => row.charge,
      payment_intent: (row) => row.payment_intent,
    }),
    sessions: new Table('checkout.session', {
      customer: (row) => row.session.customer,
      payment_intent: (row) => row.session.payment_intent,
    }),
    events: createEventLog({ clock, ids, onEvent }),
  }
}
