// Errors: the envelopes and every code. Each row about a code begins with it and its status.

import type { Chapter } from './statement.ts'

const ACCOUNTS = 'src/accounts/accounts.test.ts'
const AUTHENTICATE = 'src/access/authenticate.test.ts'
const AUTHORIZE = 'test/oauth/authorize.test.ts'
const CONFORMANCE = 'test/conformance/errors.test.ts'
const FAILURE = 'test/gateway/provider-failure.test.ts'
const HANDLER = 'src/http/error-handler.test.ts'
const KEYS = 'src/keys/keys.test.ts'
const LINKS = 'test/oauth/links.test.ts'
const MANAGEMENT = 'test/webhooks/management.test.ts'
const ONBOARDING = 'test/payouts/onboarding.test.ts'
const TOKEN = 'test/oauth/token-endpoint.test.ts'

const BY_PROVIDER = '… is … … from every provider, in both formats…'
const FINISHED = 'from no account to a finished one: link, 409, refresh, dashboard'
const ENVELOPE = '… has its status and the whole envelope'

export const ERRORS_CHAPTER: Chapter = {
  title: 'Errors',
  sections: [
    {
      title: 'Envelopes',
      rows: [
        [
          'OpenAI’s: `error` with `code`, `message`, `hint` and `docs_url`',
          [HANDLER, `an error in the words of OpenAI › ${ENVELOPE}`],
        ],
        [
          'Anthropic’s: `type: error`, and `error` with `type` and `message`',
          [HANDLER, `an error in the words of Anthropic › ${ENVELOPE}`],
          [
            'test/contract/spec-chat.test.ts',
            'a message that is not streamed carries svc too, and its errors are Anthropic’s',
          ],
        ],
        [
          '`docs_url` leads to the code’s explanation',
          [
            'test/contract/openapi.test.ts',
            '/docs/errors has an element for every code, and docs_url of a reply leads to it',
          ],
        ],
        ['Provider calls are never retried', [FAILURE, BY_PROVIDER]],
      ],
    },
    {
      title: 'Codes of credentials and accounts',
      rows: [
        [
          '`invalid_api_key` 401: the bearer is missing, malformed, revoked or nobody’s',
          [ACCOUNTS, 'credentials of other kinds and junk are refused where a session is needed'],
          [KEYS, 'an API key is no session: it cannot make, list or revoke keys'],
          [CONFORMANCE, '… format: a missing or wrong key is 401'],
        ],
        [
          '`invalid_token` 401: an access token that is expired, revoked or another client’s',
          [
            'src/oauth/flow.test.ts',
            'a refresh gives the next pair, and revoking a refresh token ends everything of its grant',
          ],
          [
            'src/oauth/flow.test.ts',
            'a user key and the user’s token together bill that user; a developer key with a token is refused',
          ],
        ],
        [
          '`unauthorized` 401: no session where webhooks or payouts are managed',
          [MANAGEMENT, 'takes no API key, no access token and nobody'],
          [ONBOARDING, 'payout endpoints take the session cookie and nothing else'],
        ],
        [
          '`invalid_credentials` 401: the login is wrong',
          [ACCOUNTS, 'an unknown address and a wrong password get the same answer, to the letter'],
        ],
        [
          '`invalid_email` 400',
          [ACCOUNTS, 'an address without @, with spaces, line breaks or NUL is invalid_email'],
        ],
        [
          '`weak_password` 400',
          [
            ACCOUNTS,
            'seven characters are weak, eight emoji are not, a megabyte is refused before hashing',
          ],
        ],
        ['`email_exists` 409', [ACCOUNTS, 'an address is taken whatever its case and spaces']],
        [
          '`insufficient_scope` 403: the token lacks the scope',
          [
            LINKS,
            'O27: without the scope a token or a link gives nothing, and the answer names the scope',
          ],
        ],
        [
          '`forbidden` 403: the client of a webhook is another developer’s',
          [MANAGEMENT, 'is refused for the app of somebody else, and for one that does not exist'],
        ],
        [
          '`user_not_found` 404: the credential leads to no user',
          [LINKS, 'O28: the token of an account that is gone leads to no user, whoever asks'],
          [
            'src/access/payer.test.ts',
            'an id without a link, or linked to another developer, is user_not_found',
          ],
        ],
      ],
    },
    {
      title: 'Codes of OAuth',
      rows: [
        [
          '`invalid_client` 401: the client’s credentials are wrong',
          [TOKEN, 'O22: an app says who it is in one way, and as itself'],
          [TOKEN, 'a secret that was replaced, and one of a deleted app, are wrong at once'],
        ],
        [
          '`invalid_grant` 400: code, refresh token or verifier did not verify',
          [
            'test/oauth/code.test.ts',
            'O5: without the verifier of its own request a code is worth nothing, and is not used up',
          ],
          [
            'test/oauth/refresh.test.ts',
            'O20: an old refresh token after 31 seconds ends the whole family, and is told',
          ],
        ],
        [
          '`invalid_scope` 400: unknown, or not allowed to the client',
          [
            AUTHORIZE,
            'O7: a scope that is unknown, not allowed, or no scope at all is invalid_scope',
          ],
        ],
        [
          '`unauthorized_client` 400: another response type than the client may have',
          [AUTHORIZE, 'O6: only a code is given; tokens never travel in an address'],
        ],
        [
          '`invalid_request` 400: `response_type`, `code_challenge`, `redirect_uri` or grant type; fields of a webhook',
          [AUTHORIZE, 'O4: without a challenge of SHA-256 there is no consent'],
          [AUTHORIZE, 'O6: only a code is given; tokens never travel in an address'],
          [
            TOKEN,
            'O22: a parameter that comes twice, is too long or is missing is invalid_request',
          ],
          [MANAGEMENT, 'is refused with invalid_request where the input is not what it should be'],
        ],
      ],
    },
    {
      title: 'Codes of requests',
      rows: [
        [
          '`bad_request` 400: a body, header or parameter failed validation, or the endpoint is the wrong one',
          [KEYS, 'refuses what makes no sense, and creates nothing'],
          ['src/funding/routes.test.ts', 'a missing or broken Idempotency-Key is 400'],
          [
            'test/contract/spec-chat.test.ts',
            'a key made for users does not bill its developer, whatever the endpoint',
          ],
        ],
        [
          '`invalid_url` 400: a webhook’s address',
          [MANAGEMENT, 'is refused with invalid_url where we must not or cannot dial'],
        ],
        [
          '`not_found` 404: missing, or somebody else’s',
          [KEYS, 'somebody else’s key, an unknown one and an id that is none are all 404'],
          [MANAGEMENT, 'knows no webhook of somebody else'],
          [
            'test/contract/spec-credentials.test.ts',
            'an app that is deleted is gone, and nobody else can read, change or delete it',
          ],
          [ONBOARDING, 'without an account there is nothing to refresh, to open or to tell'],
        ],
        [
          '`model_not_found` 404',
          [CONFORMANCE, '…: an unknown model is 404, and nobody is asked'],
          [FAILURE, 'an unknown model is 404 in both formats, and the provider hears nothing'],
        ],
        [
          '`insufficient_credits` 402: chat, audio and funding',
          [CONFORMANCE, '… format: an empty wallet is 402 before any provider is asked'],
          [
            'test/gateway/audio.test.ts',
            'is refused before the provider hears it, where the wallet cannot pay for its length',
          ],
          [
            'src/funding/routes.test.ts',
            'a 402 is not remembered: after a top-up the same key works',
          ],
        ],
        [
          '`rate_limit_exceeded` 429: the key’s allowance, or the address’s',
          [
            AUTHENTICATE,
            'each key has its own allowance of 100 a minute, counted down in the headers',
          ],
          [
            AUTHENTICATE,
            'an invented key counts for its address, so inventing keys gives no new allowance',
          ],
        ],
        [
          '`rate_limited` 429: verification mail and password changes',
          [
            'src/accounts/mail-proofs.test.ts',
            'the fourth mail in an hour is rate_limited; an address that is verified uses no slot',
          ],
          [
            'src/accounts/passwords.test.ts',
            'wrong attempts use up slots: the sixth in 15 minutes is rate_limited, even if right',
          ],
        ],
        ['`onboarding_incomplete` 400', [ONBOARDING, FINISHED]],
        ['`already_connected` 409', [ONBOARDING, FINISHED]],
      ],
    },
    {
      title: 'Codes of providers and prices',
      rows: [
        [
          '`provider_rate_limited` 429, with `Retry-After`',
          [FAILURE, BY_PROVIDER],
          [CONFORMANCE, '…: a limited caller is told when to come back'],
        ],
        [
          '`rate_limit` 429: a second name of `provider_rate_limited`; known, and never answered with',
          [HANDLER, ENVELOPE],
        ],
        ['`content_filtered` 400', [FAILURE, BY_PROVIDER]],
        [
          '`pricing_error` 500',
          [
            'test/contract/spec-chat.test.ts',
            'a call whose price is out of range is 500 pricing_error, and nothing is charged',
          ],
        ],
        ['`upstream_error` 502', [FAILURE, BY_PROVIDER]],
        [
          '`stripe_error` 502, safe to repeat',
          [ONBOARDING, 'Stripe fails (…): 502 stripe_error, and a repeat makes the one account'],
        ],
        [
          '`provider_misconfigured` 503, and nothing about our account',
          [FAILURE, BY_PROVIDER],
          [FAILURE, 'live mode without the key of a provider is 503 provider_misconfigured'],
          [
            'test/gateway/bad-input.test.ts',
            'nothing of our account at a provider gets into a reply, and no credential or prompt into a log',
          ],
        ],
        [
          '`provider_unavailable` 503',
          [FAILURE, BY_PROVIDER],
          [FAILURE, 'one that refuses the connection is 503 provider_unavailable'],
        ],
        [
          '`provider_timeout` 504',
          [FAILURE, 'one that never begins to answer is 504 provider_timeout'],
        ],
        [
          '`gateway_timeout` 504: a second name of `provider_timeout`; known, and never answered with',
          [HANDLER, ENVELOPE],
        ],
      ],
    },
  ],
}
