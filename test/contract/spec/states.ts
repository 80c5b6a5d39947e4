// States and transitions.

import type { Chapter } from './statement.ts'

const BATCH = 'test/payouts/batch.test.ts'
const DELIVERY = 'test/webhooks/delivery.test.ts'
const ONBOARDING = 'test/payouts/onboarding.test.ts'
const FINISHED = 'from no account to a finished one: link, 409, refresh, dashboard'
const EDGES = 'changes its mind at seven days, ten dollars and ninety days, and not a moment before'
const EXAMPLE = 'follows the worked example: two payouts, a reserve that is released and rolled in'
const SWITCHED = 'a webhook that is switched off is sent nothing, and switched on again it is'

export const STATES: Chapter = {
  title: 'States and transitions',
  sections: [
    {
      title: 'Webhook and delivery',
      rows: [
        [
          'active → inactive by PATCH of its owner; deliveries stop',
          ['test/contract/spec-webhooks.test.ts', SWITCHED],
          [DELIVERY, 'gets none of the retries that wait (…)'],
        ],
        ['inactive → active by PATCH', ['test/contract/spec-webhooks.test.ts', SWITCHED]],
        [
          'any → removed by DELETE, answered with success',
          [
            'test/webhooks/management.test.ts',
            'deletes with success true, and then knows it no more',
          ],
        ],
        [
          'A delivery that failed is retried up to 3 times, and within 24 hours',
          [DELIVERY, 'is tried four times with the same bytes, at those times, and then not again'],
          [DELIVERY, 'is not tried past 24 hours, whatever the number of tries'],
        ],
      ],
    },
    {
      title: 'Payout account',
      rows: [
        [
          'none → exists: onboarding gives 201, an address and an id that is kept',
          [ONBOARDING, FINISHED],
        ],
        [
          'exists → unchanged: onboarding gives 409 `already_connected`',
          [ONBOARDING, FINISHED],
          [ONBOARDING, 'ten requests at once make one account'],
        ],
        [
          'incomplete → complete: details and payouts both true; the dashboard opens',
          [ONBOARDING, FINISHED],
          [
            ONBOARDING,
            'details without payouts are no finished onboarding, and the reason is told',
          ],
        ],
      ],
    },
    {
      title: 'Earning, reserve and code',
      rows: [
        [
          'accrued → eligible 7 days after the call',
          [BATCH, EDGES],
          ['src/payouts/rules.test.ts', 'holds earnings for 7 days and reserves for 90'],
        ],
        [
          'eligible stays eligible while the total is below 10,000,000 credits',
          [BATCH, EDGES],
          [
            BATCH,
            'claims nothing below the minimum, for a developer who may not be paid, or while a payout is pending',
          ],
        ],
        [
          'eligible → paid at 10,000,000 or more, with payouts enabled and at least a cent',
          [
            BATCH,
            'pays nobody without an account, without payouts enabled, or below a cent; and then pays',
          ],
        ],
        ['10 % is withheld and 90 % transferred', [BATCH, EXAMPLE]],
        [
          'reserve held → released after 90 days, into a future payout',
          [BATCH, EXAMPLE],
          [BATCH, EDGES],
        ],
        [
          'code issued → consumed at its first exchange; a second use is `invalid_grant`',
          [
            'test/oauth/code.test.ts',
            'O17: a code that comes twice ends everything that came of it, and is told',
          ],
          [
            'test/oauth/races.test.ts',
            'O18: a code sent four times at once gives at most one answer, and then nothing',
          ],
        ],
      ],
    },
  ],
}
