// Limits and versioning.

import type { Chapter } from './statement.ts'

const AUTHENTICATE = 'src/access/authenticate.test.ts'
const BATCH = 'test/payouts/batch.test.ts'
const LIMIT = 'src/http/rate-limit.test.ts'
const DEFAULTS = 'test/contract/spec-limits.test.ts'
const RULES = 'src/payouts/rules.test.ts'
const HUNDRED = 'each key has its own allowance of 100 a minute, counted down in the headers'
const UNSET =
  'without settings: 100 requests, 3 registrations and 5 logins a minute, 3 mails an hour, 5 passwords in 15 minutes'
const EVERY_REPLY = 'the three headers are on every kind of reply'
const SETTINGS = 'is what the settings say, in windows of a minute, an hour and 15 minutes'
const EDGES = 'changes its mind at seven days, ten dollars and ninety days, and not a moment before'
const CENTS =
  'withholds a tenth rounded down and transfers whole cents, for each gross from 10,000,000 to 10,010,009'
const EXAMPLE = 'follows the worked example: two payouts, a reserve that is released and rolled in'

export const LIMITS: Chapter = {
  title: 'Limits',
  sections: [
    {
      title: 'Requests',
      rows: [
        [
          '100 requests a minute for each key, as configured',
          [DEFAULTS, UNSET],
          [AUTHENTICATE, HUNDRED],
          [LIMIT, SETTINGS],
        ],
        [
          'The limit of a key can be raised',
          [
            AUTHENTICATE,
            'a key’s own limit is the one that counts, and the operator’s change reaches it at once',
          ],
        ],
        [
          'By address where there is no key',
          [
            AUTHENTICATE,
            'an invented key counts for its address, so inventing keys gives no new allowance',
          ],
        ],
        [
          'Registration: 3 a minute',
          [DEFAULTS, UNSET],
          [AUTHENTICATE, 'the fourth registration in a minute from one address is refused'],
        ],
        [
          'Login: 5 a minute',
          [DEFAULTS, UNSET],
          [
            AUTHENTICATE,
            'the sixth login in a minute is refused: from one address, and for one email from many',
          ],
        ],
        [
          'Verification mail: 3 an hour for each user',
          [DEFAULTS, UNSET],
          [
            'src/accounts/mail-proofs.test.ts',
            'the fourth mail in an hour is rate_limited; an address that is verified uses no slot',
          ],
        ],
        [
          'Password: 5 attempts in 15 minutes for each user',
          [DEFAULTS, UNSET],
          [
            'src/accounts/passwords.test.ts',
            'wrong attempts use up slots: the sixth in 15 minutes is rate_limited, even if right',
          ],
        ],
        [
          '`X-RateLimit-Limit` on every reply',
          [AUTHENTICATE, EVERY_REPLY],
          [AUTHENTICATE, HUNDRED],
        ],
        [
          '`X-RateLimit-Remaining` on every reply',
          [AUTHENTICATE, EVERY_REPLY],
          [AUTHENTICATE, HUNDRED],
        ],
        [
          '`X-RateLimit-Reset` on every reply, in Unix seconds',
          [AUTHENTICATE, EVERY_REPLY],
          [AUTHENTICATE, HUNDRED],
        ],
        [
          'The three are on streams too',
          [
            'test/gateway/bad-input.test.ts',
            'every reply, streams and errors too, has a request id and the three rate limit headers',
          ],
        ],
        ['Beyond the limit: 429 `rate_limit_exceeded`', [AUTHENTICATE, HUNDRED]],
        ['/health is exempt', [AUTHENTICATE, '/health answers however often it is asked']],
        [
          'The processor’s inbound webhooks are exempt',
          ['test/payouts/topups.test.ts', 'the endpoint is not counted against any limit'],
        ],
        [
          'Funding has a limit of its own',
          ['src/funding/routes.test.ts', 'funding has a limit of its own for each key'],
        ],
      ],
    },
    {
      title: 'Sessions and webhooks',
      rows: [
        [
          'Sessions last 24 hours',
          ['src/accounts/accounts.test.ts', 'a session ends after 24 hours, also in the cache'],
        ],
        [
          'Webhook retries: 3 within 24 hours',
          [
            'test/webhooks/delivery.test.ts',
            'are 30 s, 15 min and 6 h, each a fifth sooner or later, and then no more',
          ],
          [
            'test/webhooks/delivery.test.ts',
            'is not tried past 24 hours, whatever the number of tries',
          ],
        ],
        [
          'Delivery log: 50, at most 100',
          [
            'test/contract/spec-webhooks.test.ts',
            'the log shows 50 deliveries unless told otherwise, and at most 100',
          ],
        ],
      ],
    },
    {
      title: 'Payouts',
      rows: [
        [
          'Earnings are held for 7 days',
          [BATCH, EDGES],
          [RULES, 'holds earnings for 7 days and reserves for 90'],
        ],
        [
          'Minimum: 10,000,000 credits for each developer and batch; less is carried over',
          [BATCH, EDGES],
        ],
        [
          'The batch is daily',
          [RULES, 'has one batch a day, at six in the morning UTC'],
          [
            'test/payouts/books.test.ts',
            'runs once a day, also in two workers, and again when it did not end',
          ],
        ],
        ['Reserve: 10 % of the gross, released after 90 days', [RULES, CENTS], [BATCH, EDGES]],
        ['Transfer: floor(credits / 10,000) cents', [RULES, CENTS]],
        [
          'With 0 cents the developer is skipped',
          [RULES, 'has nothing to transfer up to 11,110 credits, and a cent from there on'],
          [
            BATCH,
            'pays nobody without an account, without payouts enabled, or below a cent; and then pays',
          ],
        ],
        [
          'The transfer’s key is `payout_<developer>_<hash>` of the sorted earning ids',
          [BATCH, EXAMPLE],
        ],
        [
          'A batch that is repeated makes no second transfer',
          ['test/payouts/processes.test.ts', 'pay once when one is killed ……'],
          ['test/payouts/faults.test.ts', 'pays once through …'],
        ],
        [
          'A second run while one is under way does nothing',
          [BATCH, 'returns at once while another runs'],
          [
            'test/payouts/processes.test.ts',
            'run one at a time, … rounds: the other returns at once',
          ],
        ],
      ],
    },
  ],
}

export const VERSIONING: Chapter = {
  title: 'Versioning',
  sections: [
    {
      title: 'Paths and names',
      rows: [
        [
          'Chat, balance, models, funding and webhooks stand under /v1',
          [
            'test/contract/coverage.test.ts',
            'every endpoint of the specification is in the OpenAPI document, under the path it names',
          ],
        ],
        [
          '/auth, /developers and /oauth have no version',
          [
            'test/contract/coverage.test.ts',
            'every endpoint of the specification is in the OpenAPI document, under the path it names',
          ],
        ],
        [
          'OpenAI’s clients: the base address with /v1',
          ['test/e2e/sdk-openai.test.ts', 'the models can be listed and looked up'],
        ],
        [
          'Anthropic’s clients: the base address without it',
          ['test/e2e/sdk-anthropic.test.ts', 'the models can be listed and looked up'],
        ],
        [
          'Deliveries say `Svc-Webhooks/1.0`',
          [
            'test/webhooks/events.test.ts',
            'is told as usage.completed and balance.updated, with the numbers of the reply',
          ],
        ],
      ],
    },
  ],
}
