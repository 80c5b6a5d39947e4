// What can be typed after `svc payouts`: everything that needs no database to be refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runPayoutsCommand } from './payout-commands.ts'
import { UsageError } from './usage-error.ts'

for (const [args, why] of [
  [[], /svc payouts run/],
  [['pay'], /svc payouts run/],
  [['run', 'now'], /svc payouts run/],
  [['run', '--status', 'paid'], /--status is an option of `list`/],
  [['list', '--dry-run'], /--dry-run is an option of `run`/],
  [['list', '--now', '2027-01-01'], /--now is an option of `run` and `earnings`/],
  [['run', '--dry'], /Unknown option/],
  [['run', '--now'], /argument missing/],
  [['show'], /svc payouts run/],
  [['show', 'one', 'two'], /svc payouts run/],
] as const) {
  test(`svc payouts ${args.join(' ')} is refused before anything is opened`, async () => {
    let opened = false
    const run = runPayoutsCommand(args, async () => {
      opened = true
    })
    await assert.rejects(run, (error) => error instanceof UsageError && why.test(error.message))
    assert.equal(opened, false)
  })
}
