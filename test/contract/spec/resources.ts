// Resources and their fields.

import type { Chapter } from './statement.ts'

const ACCOUNTS = 'src/accounts/accounts.test.ts'
const BATCH = 'test/payouts/batch.test.ts'
const CHAT = 'test/contract/spec-chat.test.ts'
const CODE = 'test/oauth/code.test.ts'
const CREDENTIALS = 'test/contract/spec-credentials.test.ts'
const EARNINGS = 'test/payouts/earnings.test.ts'
const FLOW = 'src/oauth/flow.test.ts'
const KEYS = 'src/keys/keys.test.ts'
const MANAGEMENT = 'test/webhooks/management.test.ts'
const ONBOARDING = 'test/payouts/onboarding.test.ts'
const WEBHOOKS = 'test/contract/spec-webhooks.test.ts'

const NEW_ACCOUNT = 'a new account gets its welcome credits, a session of 24 hours and the cookie'
const NEW_APP = 'a new app is answered with its fields and its secret, which is never shown again'
const NEW_HOOK = 'is answered with its secret, which is never shown again'
const DELIVERY = 'a delivery has its event, what was answered and both times'
const FINISHED = 'from no account to a finished one: link, 409, refresh, dashboard'
const REJECTED = 'details without payouts are no finished onboarding, and the reason is told'
const SUMS = 'shows sums that close, the next batch, recent payouts and, when asked, series'
const PAYOUT =
  'a payout has the period of the calls in it, and the sums before and after the reserve'

export const RESOURCES: Chapter = {
  title: 'Resources and their fields',
  sections: [
    {
      title: 'User and session',
      rows: [
        ['User: `id` (uuid), `email`, `balance`', [ACCOUNTS, NEW_ACCOUNT]],
        [
          '`email` contains `@`',
          [ACCOUNTS, 'an address without @, with spaces, line breaks or NUL is invalid_email'],
        ],
        [
          'New accounts get welcome credits; the amount is a setting (`WELCOME_CREDITS`)',
          [ACCOUNTS, NEW_ACCOUNT],
        ],
        ['Session: `session_token` with the prefix `sess_`', [ACCOUNTS, NEW_ACCOUNT]],
        [
          'Session: `expires_at`, ISO 8601, 24 hours later',
          [ACCOUNTS, NEW_ACCOUNT],
          [ACCOUNTS, 'a session ends after 24 hours, also in the cache'],
        ],
      ],
    },
    {
      title: 'API key',
      rows: [
        [
          '`name` and `billing_mode` (`developer` or `user`)',
          [KEYS, 'shows the secret once: sk-svc- and 32 characters, and the record beside it'],
          [KEYS, 'refuses what makes no sense, and creates nothing'],
        ],
        [
          '`key`: `sk-svc-` and 32 characters',
          [KEYS, 'shows the secret once: sk-svc- and 32 characters, and the record beside it'],
        ],
        [
          'The key is shown once; lists have no secret',
          [KEYS, 'shows the newest first, in pages, without any secret'],
        ],
        [
          'Only a hash of the key is stored',
          [KEYS, 'only a hash is stored: the secret is nowhere in the database'],
        ],
        ['`id` is what DELETE takes', [KEYS, 'takes effect before the answer arrives, and once']],
      ],
    },
    {
      title: 'OAuth client, tokens and hosted link',
      rows: [
        ['Client: `id`, `name`, `redirect_uris`, `created_at`', [CREDENTIALS, NEW_APP]],
        ['`client_id` with the prefix `svc_client_`', [CREDENTIALS, NEW_APP]],
        ['`client_secret` with the prefix `svc_secret_`, shown once', [CREDENTIALS, NEW_APP]],
        [
          '`allowed_scopes`: `credits.read`, `credits.spend`; changed with PATCH',
          [
            CREDENTIALS,
            'allowed_scopes can be changed, from the two that there are, and hold at once',
          ],
        ],
        [
          'Access tokens begin with `svc_token_`, refresh tokens with `svc_refresh_`',
          [
            FLOW,
            'a stranger signs up, allows the app, and pays with their own credits; the developer earns the markup',
          ],
        ],
        [
          'Authorization codes are single-use',
          [CODE, 'O17: a code that comes twice ends everything that came of it, and is told'],
        ],
        ['Authorization codes are short-lived', [CODE, 'O16: a code lasts a minute']],
        [
          'A hosted link joins the developer’s id of a user with a user of the service',
          [
            FLOW,
            'hosted: the developer’s key and their name for the user are enough, after the exchange',
          ],
        ],
      ],
    },
    {
      title: 'Webhook',
      rows: [
        ['`id` with the prefix `wh_`', [MANAGEMENT, NEW_HOOK]],
        [
          '`url`: https, http for localhost only',
          [MANAGEMENT, 'is refused with invalid_url where we must not or cannot dial'],
          [
            'test/webhooks/ssrf.test.ts',
            'W9: where loopback is allowed, only localhost and 127.0.0.1 are this machine',
          ],
        ],
        [
          '`events`: not empty, known names',
          [MANAGEMENT, 'is refused with invalid_request where the input is not what it should be'],
        ],
        [
          '`secret` with the prefix `whsec_`, only in the answer that makes it',
          [MANAGEMENT, NEW_HOOK],
          [
            'src/webhooks/signature.test.ts',
            'a secret is whsec_ and 32 random bytes in standard base64',
          ],
        ],
        [
          '`low_balance_threshold` in credits; without it `balance.low` is off',
          [MANAGEMENT, NEW_HOOK],
          ['test/webhooks/events.test.ts', 'is not told without a threshold'],
        ],
        ['`active` and `created_at`', [MANAGEMENT, NEW_HOOK]],
        [
          '`client_id`: the client it is for, in the request and as a filter',
          [MANAGEMENT, 'lists the webhooks of one app, or of all, page by page, without secrets'],
        ],
      ],
    },
    {
      title: 'Webhook delivery and event envelope',
      rows: [
        ['Delivery: `id`, `event_type`', [WEBHOOKS, DELIVERY]],
        ['Delivery: `payload` is the event as it was sent', [WEBHOOKS, DELIVERY]],
        ['Delivery: `response_status`, `response_body`', [WEBHOOKS, DELIVERY]],
        ['Delivery: `delivered_at`, `created_at`', [WEBHOOKS, DELIVERY]],
        [
          'Envelope: `id`, `type`, `created_at`, `data`',
          [
            WEBHOOKS,
            'an event has an id with evt_ in front, its type, its time and its data, in this envelope',
          ],
        ],
      ],
    },
    {
      title: 'Chat completion metadata',
      rows: [
        [
          '`svc`: `credits_used`, `balance_before`, `balance_after`, whole numbers',
          [CHAT, 'a completion has the fields of OpenAI, with svc beside them'],
        ],
        [
          '`svc.billing_mode` where the answer is not streamed',
          [CHAT, 'a completion has the fields of OpenAI, with svc beside them'],
          [CHAT, 'a message that is not streamed carries svc too, and its errors are Anthropic’s'],
        ],
      ],
    },
    {
      title: 'Payout account status',
      rows: [
        [
          '`connected` false comes without any other field',
          [ONBOARDING, 'without an account there is nothing to refresh, to open or to tell'],
        ],
        [
          '`stripe_account_id`, `charges_enabled`, `payouts_enabled`, `details_submitted`',
          [ONBOARDING, FINISHED],
        ],
        [
          '`onboarding_completed` is true when details are submitted and payouts enabled, both',
          [ONBOARDING, FINISHED],
          [ONBOARDING, REJECTED],
        ],
        ['`country`, `default_currency`', [ONBOARDING, FINISHED]],
        ['`disabled_reason`, or null', [ONBOARDING, REJECTED], [ONBOARDING, FINISHED]],
        [
          'The batch skips who has `payouts_enabled` false',
          [
            BATCH,
            'pays nobody without an account, without payouts enabled, or below a cent; and then pays',
          ],
        ],
      ],
    },
    {
      title: 'Earning, summary and payout',
      rows: [
        [
          'An earning is the markup of a call that a user paid, with its `usage_at`; the cost stays with the service',
          [
            FLOW,
            'a stranger signs up, allows the app, and pays with their own credits; the developer earns the markup',
          ],
          [EARNINGS, 'counts a call from the moment it is settled'],
        ],
        ['`total_earned_credits`: all of it, paid or not', [EARNINGS, SUMS]],
        [
          '`pending_payout_credits`: past 7 days and at $10 or more',
          ['src/payouts/rules.test.ts', 'shows what is eligible on one side of ten dollars'],
          [
            BATCH,
            'changes its mind at seven days, ten dollars and ninety days, and not a moment before',
          ],
        ],
        [
          '`accumulating_credits`: past 7 days and below $10',
          ['src/payouts/rules.test.ts', 'shows what is eligible on one side of ten dollars'],
          [
            BATCH,
            'changes its mind at seven days, ten dollars and ninety days, and not a moment before',
          ],
        ],
        [
          '`reserve_held_credits`: withheld and not yet released',
          [EARNINGS, SUMS],
          [
            BATCH,
            'follows the worked example: two payouts, a reserve that is released and rolled in',
          ],
        ],
        ['`total_paid_out_credits`: the sum of transfers', [EARNINGS, SUMS]],
        ['Payout: `id` (uuid), `created_at`', ['test/contract/spec-payouts.test.ts', PAYOUT]],
        [
          'Payout: `gross_amount_credits`, `reserve_amount_credits` (10 %), `transfer_amount_credits`',
          ['test/contract/spec-payouts.test.ts', PAYOUT],
          [
            'src/payouts/rules.test.ts',
            'withholds a tenth rounded down and transfers whole cents, for each gross from 10,000,000 to 10,010,009',
          ],
        ],
        ['Payout: `earnings_count`', ['test/contract/spec-payouts.test.ts', PAYOUT]],
        [
          'Payout: `status` is `paid`, `pending` or `failed`',
          [EARNINGS, 'lists every payout page by page, with the reason of a failure'],
          [
            'test/payouts/faults.test.ts',
            'keeps a payout pending behind a saved 500 that did nothing, and pays it when the key is forgotten',
          ],
        ],
        [
          'Payout: `period_start` and `period_end` are the first and the last `usage_at`',
          ['test/contract/spec-payouts.test.ts', PAYOUT],
        ],
      ],
    },
  ],
}
