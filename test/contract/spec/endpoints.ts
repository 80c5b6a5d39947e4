// Endpoints: what they take and answer. Each row that describes one begins with its method and path.

import type { Chapter } from './statement.ts'

const ACCOUNTS = 'src/accounts/accounts.test.ts'
const AUDIO = 'test/gateway/audio.test.ts'
const AUTHORIZE = 'test/oauth/authorize.test.ts'
const CHAT = 'test/contract/spec-chat.test.ts'
const CODE = 'test/oauth/code.test.ts'
const CREDENTIALS = 'test/contract/spec-credentials.test.ts'
const DELIVERY = 'test/webhooks/delivery.test.ts'
const EARNINGS = 'test/payouts/earnings.test.ts'
const FLOW = 'src/oauth/flow.test.ts'
const FUNDING = 'src/funding/routes.test.ts'
const KEYS = 'src/keys/keys.test.ts'
const LINKS = 'test/oauth/links.test.ts'
const MANAGEMENT = 'test/webhooks/management.test.ts'
const ONBOARDING = 'test/payouts/onboarding.test.ts'
const PASSWORDS = 'src/accounts/passwords.test.ts'
const PAYER = 'src/access/payer.test.ts'
const PROOFS = 'src/accounts/mail-proofs.test.ts'
const TOKEN = 'test/oauth/token-endpoint.test.ts'
const USAGE = 'test/usage/record.test.ts'
const WEBHOOKS = 'test/contract/spec-webhooks.test.ts'

const FINISHED = 'from no account to a finished one: link, 409, refresh, dashboard'
const NO_ACCOUNT = 'without an account there is nothing to refresh, to open or to tell'
const SIGN_UP =
  'a stranger signs up, allows the app, and pays with their own credits; the developer earns the markup'
const STREAMED =
  'a streamed completion is data lines with deltas, then [DONE], then one line with svc'
const MESSAGES =
  'a streamed message is named events, from message_start to message_stop, and svc_usage last'
const WHO_PAYS =
  'who pays: a key its developer, a token its user, and a key that names a linked user that user'
const COMPLETION = 'a completion has the fields of OpenAI, with svc beside them'
const SCOPES =
  'O27: without the scope a token or a link gives nothing, and the answer names the scope'

export const ENDPOINTS_CHAPTER: Chapter = {
  title: 'Endpoints',
  sections: [
    {
      title: 'Account',
      rows: [
        [
          'POST /auth/register: 201 with user, session and expiry',
          [
            ACCOUNTS,
            'a new account gets its welcome credits, a session of 24 hours and the cookie',
          ],
        ],
        [
          'Bodies are JSON, unless stated',
          ['test/contract/bad-input.test.ts', 'another content type is 415, whatever it holds'],
          ['test/contract/bad-input.test.ts', 'what is not JSON is 400'],
        ],
        [
          'registration: 400 `invalid_email`',
          [ACCOUNTS, 'an address without @, with spaces, line breaks or NUL is invalid_email'],
        ],
        [
          'registration: 400 `weak_password` below 8 characters',
          [
            ACCOUNTS,
            'seven characters are weak, eight emoji are not, a megabyte is refused before hashing',
          ],
        ],
        [
          'registration: 409 `email_exists`',
          [ACCOUNTS, 'an address is taken whatever its case and spaces'],
        ],
        [
          'POST /auth/login: 200 in the shape of registration',
          [ACCOUNTS, 'the right password opens a new session with the same shape as registration'],
        ],
        [
          'login: 401 `invalid_credentials`',
          [ACCOUNTS, 'an unknown address and a wrong password get the same answer, to the letter'],
        ],
        [
          'GET /auth/me: `id`, `email`, `balance`, for a session',
          [ACCOUNTS, 'the right password opens a new session with the same shape as registration'],
          [ACCOUNTS, 'credentials of other kinds and junk are refused where a session is needed'],
        ],
        [
          'POST /auth/logout: success, and the session has ended',
          [ACCOUNTS, 'logout ends the session at once and clears the cookie'],
        ],
        [
          'POST /auth/send-verification: a mail with a link, for a session',
          [
            PROOFS,
            'the token of the mail and the password verify the address, once, and end nothing',
          ],
        ],
        [
          'send-verification: who is verified uses no slot',
          [
            PROOFS,
            'the fourth mail in an hour is rate_limited; an address that is verified uses no slot',
          ],
        ],
        [
          'POST /auth/change-password: `current_password` and the new one, for a session',
          [PASSWORDS, 'sets the new one, keeps this session and ends every other'],
        ],
        [
          'change-password: a wrong current password uses a slot',
          [
            PASSWORDS,
            'wrong attempts use up slots: the sixth in 15 minutes is rate_limited, even if right',
          ],
        ],
      ],
    },
    {
      title: 'API keys',
      rows: [
        [
          'POST /developers/keys: `name`, `billing_mode`; the full key, once',
          [KEYS, 'shows the secret once: sk-svc- and 32 characters, and the record beside it'],
        ],
        [
          'GET /developers/keys: metadata without secrets',
          [KEYS, 'shows the newest first, in pages, without any secret'],
          [KEYS, 'shows nobody else’s keys'],
        ],
        [
          'DELETE /developers/keys/:id: the key is revoked',
          [KEYS, 'takes effect before the answer arrives, and once'],
          [KEYS, 'takes effect in another process within a second'],
        ],
        [
          'Rotation: both keys are valid in the overlap',
          [CREDENTIALS, 'while a key is being replaced the old one and the new one are both valid'],
        ],
      ],
    },
    {
      title: 'OAuth clients',
      rows: [
        [
          'POST /developers/apps: `name`, `redirect_uris`; the client with its secret',
          [
            CREDENTIALS,
            'a new app is answered with its fields and its secret, which is never shown again',
          ],
        ],
        [
          'GET /developers/apps: the clients',
          [
            CREDENTIALS,
            'a new app is answered with its fields and its secret, which is never shown again',
          ],
        ],
        [
          'DELETE /developers/apps/:id: the client is gone, and all that came of it',
          [
            CREDENTIALS,
            'an app that is deleted is gone, and nobody else can read, change or delete it',
          ],
          [
            'test/oauth/revocation.test.ts',
            'O25: with an app go its grants, codes and tokens, on every process',
          ],
        ],
        [
          'PATCH /developers/apps/:id: `allowed_scopes`',
          [
            CREDENTIALS,
            'allowed_scopes can be changed, from the two that there are, and hold at once',
          ],
        ],
        [
          'Redirects: http on localhost and 127.0.0.1 with any port',
          [CREDENTIALS, 'redirect addresses: https, or this machine with any port; no wildcards'],
          [AUTHORIZE, 'O2: on this machine another port is allowed; another path or name is not'],
        ],
        [
          'Redirects: https otherwise, no wildcards',
          [CREDENTIALS, 'redirect addresses: https, or this machine with any port; no wildcards'],
          [
            AUTHORIZE,
            'O3: wildcards, plain http, other schemes, fragments and user names cannot be registered',
          ],
        ],
        [
          'Redirects: each matches exactly',
          [
            AUTHORIZE,
            'O1: an address that is not registered, or only nearly, is a page of ours and leads nowhere',
          ],
        ],
      ],
    },
    {
      title: 'OAuth flow',
      rows: [
        [
          'GET /oauth/authorize: `client_id`, `redirect_uri`, `response_type=code`, `state`',
          [FLOW, SIGN_UP],
          [
            AUTHORIZE,
            'the state comes back as it was sent, with the answer and with a fault; one too long does not',
          ],
        ],
        [
          'authorize: `scope` is optional and checked',
          [
            AUTHORIZE,
            'O7: a scope that is unknown, not allowed, or no scope at all is invalid_scope',
          ],
        ],
        [
          'authorize: `code_challenge` is required',
          [AUTHORIZE, 'O4: without a challenge of SHA-256 there is no consent'],
        ],
        [
          'authorize: `storage_mode=hosted` with `external_user_id`',
          [
            AUTHORIZE,
            'hosted storage needs a name of printable characters, and no other storage exists',
          ],
          [
            FLOW,
            'hosted: the developer’s key and their name for the user are enough, after the exchange',
          ],
        ],
        [
          '/oauth/login and /oauth/register: pages for whoever is not signed in',
          [FLOW, SIGN_UP],
          [
            'test/e2e/oauth-browser.test.ts',
            'a stranger registers, sets a cap, returns through two other origins, and pays for the app’s call',
          ],
        ],
        [
          'POST /oauth/token: a form with `grant_type=authorization_code`, `code`, `code_verifier` and the client',
          [FLOW, SIGN_UP],
          [TOKEN, 'O22: only a form is read; JSON, other types and what is too large are refused'],
          [
            CODE,
            'O5: without the verifier of its own request a code is worth nothing, and is not used up',
          ],
        ],
        [
          'token: `grant_type=refresh_token` gives the next pair',
          [
            FLOW,
            'a refresh gives the next pair, and revoking a refresh token ends everything of its grant',
          ],
        ],
        ['GET /oauth/userinfo: who the user is', [FLOW, SIGN_UP]],
        [
          'POST /oauth/revoke: the token has ended',
          [
            FLOW,
            'a refresh gives the next pair, and revoking a refresh token ends everything of its grant',
          ],
          [
            'test/oauth/revocation.test.ts',
            'revoking (RFC 7009): an access token ends alone, a refresh token with its family, another’s not at all',
          ],
        ],
        [
          'With hosted storage the service keeps the grant under the external id',
          [
            FLOW,
            'hosted: the developer’s key and their name for the user are enough, after the exchange',
          ],
          [LINKS, 'O29: consent alone bills nobody: without the exchange there is no link'],
        ],
      ],
    },
    {
      title: 'Chat completions',
      rows: [
        [
          'POST /v1/chat/completions: key or token; `model` and `messages` are needed',
          [CHAT, COMPLETION],
          [CHAT, 'model and messages are needed: without them it is 400 bad_request'],
          [CHAT, WHO_PAYS],
        ],
        ['`stream: true` gives server-sent events', [CHAT, STREAMED]],
        [
          'The common fields of chat completions are accepted',
          [
            'src/gateway/dialects/openai/request.test.ts',
            'a whole conversation with images, tools and results reads into neutral words',
          ],
          [
            'test/e2e/sdk-openai.test.ts',
            '…: the tool helper runs our tools and brings their results back',
          ],
        ],
        [
          'POST /v1/users/:external_user_id/chat/completions: the named user pays',
          [CHAT, WHO_PAYS],
        ],
        [
          '`X-External-User-ID`: the same, for keys in user mode',
          [CHAT, WHO_PAYS],
          [PAYER, 'a user key takes X-External-User-ID, a developer key does not'],
        ],
        ['`X-Svc-User`: the linked user pays', [CHAT, WHO_PAYS]],
        [
          'POST /v1/messages: Anthropic’s format, key or token',
          [CHAT, MESSAGES],
          [
            'test/e2e/sdk-anthropic.test.ts',
            '…: create returns a message, and the cost of the call beside it',
          ],
        ],
        [
          'Whole answer: `id`, `object`, `created`, `model`, `choices`, `usage`, and `svc`',
          [CHAT, COMPLETION],
        ],
        [
          'OpenAI stream: `text/event-stream`, `data:` with `choices[].delta.content`',
          [CHAT, STREAMED],
          [
            'test/conformance/text.test.ts',
            'a stream says that it is one, and that no proxy may hold it back',
          ],
        ],
        [
          'OpenAI stream: `[DONE]`, then one more `data:` with `svc`',
          [CHAT, STREAMED],
          [
            'test/e2e/sdk-openai.test.ts',
            '…: the numbers of a stream can be read from its raw bytes, after [DONE]',
          ],
        ],
        [
          'Anthropic stream: `event:` and `data:`; `message_start`, `content_block_delta` with `text_delta`, `message_stop`',
          [CHAT, MESSAGES],
        ],
        [
          'Anthropic stream: `svc_usage` last, with the three numbers',
          [CHAT, MESSAGES],
          [
            'test/e2e/sdk-anthropic.test.ts',
            '…: the numbers of a stream can be read from its raw bytes',
          ],
        ],
        ['Tokens need `credits.spend` to call', [LINKS, SCOPES]],
        ['Tokens need `credits.read` for the balance', [LINKS, SCOPES]],
      ],
    },
    {
      title: 'Webhooks',
      rows: [
        [
          'POST /v1/webhooks: 201 with the secret',
          [MANAGEMENT, 'is answered with its secret, which is never shown again'],
        ],
        [
          'creation: `client_id`, `url` and `events` are needed, `low_balance_threshold` is optional',
          [MANAGEMENT, 'is refused with invalid_request where the input is not what it should be'],
        ],
        [
          'creation: `client_id` is one of the caller’s',
          [MANAGEMENT, 'is refused for the app of somebody else, and for one that does not exist'],
        ],
        [
          'GET /v1/webhooks: those of one client',
          [MANAGEMENT, 'lists the webhooks of one app, or of all, page by page, without secrets'],
        ],
        [
          'GET /v1/webhooks/:id: without the secret',
          [MANAGEMENT, 'is answered with its secret, which is never shown again'],
        ],
        [
          'PATCH /v1/webhooks/:id: any of `url`, `events`, `low_balance_threshold`, `active`',
          [
            WEBHOOKS,
            'each field of a webhook can be changed alone: url, events, threshold, active',
          ],
          [MANAGEMENT, 'changes what is given, and refuses the rest as at creation'],
        ],
        [
          'DELETE /v1/webhooks/:id: success',
          [MANAGEMENT, 'deletes with success true, and then knows it no more'],
        ],
        [
          'GET /v1/webhooks/:id/deliveries: `deliveries`, 50 unless told, 100 at most',
          [WEBHOOKS, 'the log shows 50 deliveries unless told otherwise, and at most 100'],
          [DELIVERY, 'is filtered by state, type and time, and read page by page'],
        ],
      ],
    },
    {
      title: 'Payout onboarding and earnings',
      rows: [
        [
          'POST /developers/connect/onboard: 201 with the address and the account',
          [ONBOARDING, FINISHED],
        ],
        [
          'onboarding: the address works once, for minutes',
          ['sandbox/stripe/accounts.test.ts', 'an onboarding link expires after five minutes'],
          [
            'sandbox/stripe/accounts.test.ts',
            'an onboarding link opens once: the second time it leads to the refresh address',
          ],
          [ONBOARDING, 'a page of Stripe that is too old leads back to a fresh one'],
        ],
        ['onboarding: 409 if there is an account', [ONBOARDING, FINISHED]],
        [
          'POST /developers/connect/onboard/refresh: another address for the same account',
          [ONBOARDING, FINISHED],
        ],
        ['refresh: 404 `not_found` before the first onboarding', [ONBOARDING, NO_ACCOUNT]],
        [
          'GET /developers/connect/status: read live, and mirrored',
          [ONBOARDING, FINISHED],
          [
            ONBOARDING,
            'events keep the mirror: updated, reordered, twice, and never back to what was',
          ],
        ],
        [
          'status: 200 from the mirror when the processor cannot be reached',
          [ONBOARDING, 'the status comes from the mirror when Stripe fails (…)'],
        ],
        ['POST /developers/connect/dashboard-link: an address', [ONBOARDING, FINISHED]],
        [
          'dashboard: the address works once',
          [
            'sandbox/stripe/accounts.test.ts',
            'a login link shows the dashboard once, and only to whom has been onboarded',
          ],
        ],
        ['dashboard: 400 `onboarding_incomplete`', [ONBOARDING, FINISHED]],
        ['dashboard: 404 `not_found` without an account', [ONBOARDING, NO_ACCOUNT]],
        [
          'GET /developers/earnings: `summary` and `recent_payouts`',
          [
            EARNINGS,
            'shows sums that close, the next batch, recent payouts and, when asked, series',
          ],
        ],
      ],
    },
    {
      title: 'Other endpoints, and what the specification leaves open',
      rows: [
        [
          'GET /v1/balance: key, or token with `credits.read`',
          [PAYER, 'a developer key reads the developer’s own wallet'],
          [LINKS, SCOPES],
        ],
        [
          'GET /v1/models: the models that are served',
          ['src/catalog/routes.test.ts', 'GET /v1/models is OpenAI’s list, without a credential'],
          [
            'test/gateway/recipe.test.ts',
            'a model is one row: it is listed, answers in both formats, and costs what the row says',
          ],
        ],
        [
          'POST /v1/funding/credit: from the developer to a user',
          [
            FUNDING,
            'credits move from the developer to the linked user, and both see it in their statement',
          ],
        ],
        [
          'funding: `Idempotency-Key` is needed, and the same one moves credits once',
          [FUNDING, 'a missing or broken Idempotency-Key is 400'],
          [FUNDING, 'fifty identical requests at once move the credits once and get equal answers'],
        ],
        [
          'funding: 402 `insufficient_credits`',
          [FUNDING, 'a 402 is not remembered: after a top-up the same key works'],
        ],
        [
          'GET /health: without a limit',
          ['src/access/authenticate.test.ts', '/health answers however often it is asked'],
        ],
        [
          'Left open, audio: POST /v1/audio/speech',
          [AUDIO, 'costs its characters, says so in the headers, and can be played'],
          [AUDIO, 'comes in every format that can be served, at the rate that clients play it at'],
        ],
        [
          'Left open, audio: POST /v1/audio/transcriptions',
          [AUDIO, 'costs the time that was heard, in every format'],
        ],
        [
          'Left open, audio: POST /v1/audio/sound-effects',
          [AUDIO, 'a sound costs the same however long it is'],
        ],
        [
          'Left open, audio: GET /v1/audio/voices',
          [AUDIO, 'the voices are listed with the names that OpenAI’s clients know'],
        ],
        [
          'Left open, /account: GET /account, for a session',
          [USAGE, 'says who one is, what one has and which steps are done, from what is there'],
          [USAGE, 'is for a session only'],
        ],
        [
          'Left open, usage: GET /account/usage and its sums, for a session',
          [USAGE, 'has every call: those that were served, and those that were refused or failed'],
          [
            'test/usage/summary.test.ts',
            'are those of the calls at any instant, whatever was folded when',
          ],
        ],
        [
          'Left open, /account: what moved in a wallet, for its owner’s session',
          [
            'src/usage/routes.test.ts',
            'the statement is newest first, in pages, and its balances form a chain',
          ],
          ['src/usage/routes.test.ts', 'a statement is for its owner’s session only'],
        ],
      ],
    },
  ],
}
