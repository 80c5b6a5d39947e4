// A process of its own that runs batches when it is told to, and can be told to die at a marked point: a real database
// and a real processor around it, and SIGKILL.

import type { Stripe } from 'stripe'
import { runBatch } from '../../src/payouts/batch.ts'
import { createStripe } from '../../src/payouts/stripe-client.ts'
import { Db, type Statement, type Tx } from '../../src/platform/db.ts'
import { createLog } from '../../src/platform/log.ts'

const [database_url = '', stripe_url = '', mark = ''] = process.argv.slice(2)

function die(point: string): void {
  if (point === mark) process.kill(process.pid, 'SIGKILL')
}

/** Dies before or after a statement, or around the commit of the transaction that it is in. */
class MortalDb extends Db {
  override async run<Row extends object>(statement: Statement<Row>, values?: readonly unknown[]) {
    die(`before ${statement.name}`)
    const rows = await super.run(statement, values)
    die(`after ${statement.name}`)
    return rows
  }

  override async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const names: string[] = []
    const result = await super.transaction(async (tx) => {
      const done = await work({
        ...tx,
        run: async (statement, values) => {
          names.push(statement.name)
          die(`before ${statement.name}`)
          const rows = await tx.run(statement, values)
          die(`after ${statement.name}`)
          return rows
        },
      })
      for (const name of names) die(`before commit of ${name}`)
      return done
    })
    for (const name of names) die(`after commit of ${name}`)
    return result
  }
}

const db = new MortalDb({ url: database_url, pool_size: 3, application_name: 'svc test' })
const log = createLog({ level: 'silent' })
const stripe = createStripe({ secret_key: 'sk_test_payouts', base_url: stripe_url })
stripe.on('request', (event: Stripe.RequestEvent) => {
  die(`before ${event.method} ${event.path}`)
  // The request is on the wire by then.
  setTimeout(() => die(`during ${event.method} ${event.path}`), 100)
})
stripe.on('response', (event: Stripe.ResponseEvent) => die(`after ${event.method} ${event.path}`))

process.on('message', (message: { now: string }) => {
  const began = performance.now()
  const transfer_limits = { timeout: 5_000, maxNetworkRetries: 0 }
  void runBatch(
    { db, database_url, stripe, transfer_limits, log },
    { now: new Date(message.now) },
  ).then(
    ({ status, paid }) => process.send?.({ status, paid, ms: performance.now() - began }),
    (error: unknown) => process.send?.({ status: String(error), paid: 0, ms: 0 }),
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
