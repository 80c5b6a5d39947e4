// Authentication.

import type { Chapter } from './statement.ts'

const ACCOUNTS = 'src/accounts/accounts.test.ts'
const CHAT = 'test/contract/spec-chat.test.ts'
const CREDENTIALS = 'test/contract/spec-credentials.test.ts'
const FLOW = 'src/oauth/flow.test.ts'
const KEYS = 'src/keys/keys.test.ts'
const MANAGEMENT = 'test/webhooks/management.test.ts'
const WHO_PAYS =
  'who pays: a key its developer, a token its user, and a key that names a linked user that user'

export const AUTHENTICATION: Chapter = {
  title: 'Authentication',
  sections: [
    {
      title: 'Credentials',
      rows: [
        [
          'Credentials are bearer tokens; a key may come as `X-API-Key`',
          [KEYS, 'works as bearer and as X-API-Key, and says which key it is'],
          [CHAT, WHO_PAYS],
        ],
        ['API key: from POST /developers/keys, bills the developer', [CHAT, WHO_PAYS]],
        [
          'Session token: from register and login, manages the account, lasts 24 hours',
          [ACCOUNTS, 'a session ends after 24 hours, also in the cache'],
          [KEYS, 'a session token is no API key'],
        ],
        [
          'Access token: from /oauth/token, bills the end user, refreshed with its partner',
          [
            FLOW,
            'a refresh gives the next pair, and revoking a refresh token ends everything of its grant',
          ],
          ['test/oauth/refresh.test.ts', 'an access token ends after an hour, also out of memory'],
        ],
      ],
    },
    {
      title: 'Rules',
      rows: [
        [
          'Keys, apps, /auth/me, /auth/logout and webhooks take sessions only',
          [ACCOUNTS, 'credentials of other kinds and junk are refused where a session is needed'],
          ['test/oauth/sign-in.test.ts', 'A16: keys, tokens and secrets of apps are no sessions'],
          [CREDENTIALS, 'apps are managed with a session only: keys and tokens are refused'],
        ],
        [
          'Key management refuses API keys',
          [KEYS, 'an API key is no session: it cannot make, list or revoke keys'],
        ],
        [
          'Webhook management refuses API keys with 401',
          [MANAGEMENT, 'takes no API key, no access token and nobody'],
        ],
        [
          'A webhook’s secret signs, and is never a bearer token',
          ['test/contract/spec-webhooks.test.ts', 'the signing secret is no bearer token anywhere'],
        ],
        [
          'Payout endpoints take the cookie `svc_session`; without it 401 `unauthorized`',
          [
            'test/payouts/onboarding.test.ts',
            'payout endpoints take the session cookie and nothing else',
          ],
          [
            'test/payouts/earnings.test.ts',
            'GET /developers/earnings › takes the session cookie and nothing else',
          ],
        ],
        ['A key with `X-Svc-User` bills the linked user', [CHAT, WHO_PAYS]],
        [
          'A key in user mode bills the user whose access token comes with it',
          [
            FLOW,
            'a user key and the user’s token together bill that user; a developer key with a token is refused',
          ],
          [CHAT, WHO_PAYS],
        ],
        [
          'A key in user mode never bills its developer',
          [CHAT, 'a key made for users does not bill its developer, whatever the endpoint'],
        ],
        [
          'Authorization code flow with PKCE, always',
          [
            'test/oauth/authorize.test.ts',
            'O4: without a challenge of SHA-256 there is no consent',
          ],
          [
            'test/oauth/code.test.ts',
            'O5: without the verifier of its own request a code is worth nothing, and is not used up',
          ],
        ],
        [
          'Sign-in and registration have pages here',
          [
            'test/e2e/oauth-pages.test.ts',
            'sign-in and registration are good pages, and say what was wrong at the field that it is about',
          ],
        ],
        [
          'Secrets of keys and clients are shown once, and stored as hashes',
          [KEYS, 'only a hash is stored: the secret is nowhere in the database'],
          [
            'test/contract/secrets.test.ts',
            'K3: nothing that we issue stands in the database, as text or as bytes',
          ],
        ],
        [
          'OpenAI’s clients use the base address with /v1',
          [
            'test/e2e/sdk-openai.test.ts',
            '…: create returns a completion, and the cost of the call beside it',
          ],
        ],
        [
          'Anthropic’s clients use the base address without /v1',
          [
            'test/e2e/sdk-anthropic.test.ts',
            '…: create returns a message, and the cost of the call beside it',
          ],
        ],
      ],
    },
  ],
}
