// What the service does.

import type { Chapter } from './statement.ts'

const CHAT = 'test/contract/spec-chat.test.ts'
const CATALOG = 'src/catalog/catalog.test.ts'
const EVENTS = 'test/webhooks/events.test.ts'

export const OVERVIEW: Chapter = {
  title: 'What the service does',
  sections: [
    {
      title: 'The gateway',
      rows: [
        [
          'One chat format of OpenAI’s style and one of Anthropic’s, in front of every provider',
          ['test/conformance/text.test.ts', "…: the model's words arrive as it said them"],
          ['test/conformance/text.test.ts', '… answers and charges its own price in the … format'],
        ],
        [
          'Every request is metered in credits and charged to a wallet',
          [CHAT, 'a completion has the fields of OpenAI, with svc beside them'],
          [
            'test/conformance/usage.test.ts',
            "…: the usage row says what the reply said, in the provider's own numbers too",
          ],
        ],
        [
          'A balance is a whole number of credits; 1,000,000 are $1.00',
          [
            'src/catalog/service-fee.test.ts',
            'without a fee a call costs what the provider asks: $2.50 in and $10 out',
          ],
          [
            'src/catalog/pricing.test.ts',
            'a call costs the exact sum of its buckets, rounded up once',
          ],
        ],
        [
          'A stream is charged exactly what it used',
          [
            'test/conformance/text.test.ts',
            '… model, … format: an answer is the same streamed and whole',
          ],
          [
            CHAT,
            'a streamed completion is data lines with deltas, then [DONE], then one line with svc',
          ],
        ],
        [
          '`billing_mode` `developer`: the developer’s wallet is charged',
          [
            CHAT,
            'who pays: a key its developer, a token its user, and a key that names a linked user that user',
          ],
        ],
        [
          '`billing_mode` `user`: the end user is charged, and the markup is the developer’s earning',
          [
            'src/oauth/flow.test.ts',
            'a stranger signs up, allows the app, and pays with their own credits; the developer earns the markup',
          ],
        ],
        [
          'Developers manage keys, clients, webhooks, onboarding and earnings with a session',
          [
            'src/keys/keys.test.ts',
            'an API key is no session: it cannot make, list or revoke keys',
          ],
          [
            'test/contract/spec-credentials.test.ts',
            'apps are managed with a session only: keys and tokens are refused',
          ],
          ['test/webhooks/management.test.ts', 'takes no API key, no access token and nobody'],
          [
            'test/payouts/onboarding.test.ts',
            'payout endpoints take the session cookie and nothing else',
          ],
        ],
        [
          'Signed webhook deliveries tell of balances, connections and usage',
          [EVENTS, 'is told as usage.completed and balance.updated, with the numbers of the reply'],
          [EVENTS, 'is told when it begins and when it ends, with the address of the user'],
        ],
        [
          'Markup is paid out through a connected account after a hold, above a minimum, less a reserve',
          [
            'test/payouts/batch.test.ts',
            'follows the worked example: two payouts, a reserve that is released and rolled in',
          ],
        ],
      ],
    },
    {
      title: 'Models',
      rows: [
        [
          'The thirteen chat models of three families, by their exact names',
          [CATALOG, 'every model of the specification is there, by its exact name'],
          ['test/conformance/text.test.ts', '… answers and charges its own price in the … format'],
        ],
        [
          'The prefixes `anthropic/`, `google/` and `elevenlabs/` are part of the names',
          [CATALOG, 'every model of the specification is there, by its exact name'],
          [
            'src/catalog/routes.test.ts',
            'one model, with the slash of its name as it is or escaped, in both shapes',
          ],
        ],
        [
          'Audio models with the prefix `elevenlabs/` are served',
          [
            'test/gateway/audio.test.ts',
            'costs its characters, says so in the headers, and can be played',
          ],
          ['test/gateway/audio.test.ts', 'costs the time that was heard, in every format'],
        ],
      ],
    },
  ],
}
