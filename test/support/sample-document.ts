// A document with everything the reference can show, and the error rows beside it.

import type { ErrorRow } from '../../src/http/errors-page.ts'
import type { OpenApiDocument } from '../../src/http/reference/page.ts'

export const BASE_URL = 'https://api.example.test'

const rateLimitHeaders = {
  'X-RateLimit-Limit': { $ref: '#/components/headers/RateLimit' },
  'X-RateLimit-Remaining': {
    description: 'Requests left in this window.',
    schema: { type: 'integer' },
  },
  'X-RateLimit-Reset': {
    description: 'When the window resets, in Unix seconds.',
    schema: { type: 'integer' },
  },
}

function failure(description: string, ...codes: string[]) {
  return {
    description,
    headers: rateLimitHeaders,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    'x-error-codes': codes,
  }
}

function answer(description: string, schema: string) {
  return {
    description,
    headers: rateLimitHeaders,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
  }
}

const credentials = {
  required: true,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Credentials' } } },
}

export const sampleDocument: OpenApiDocument = {
  openapi: '3.1.0',
  info: {
    title: 'API reference',
    version: '1.0.0',
    description: `One API in front of **OpenAI**, **Anthropic**, **Google** and **ElevenLabs**.
Every call is metered and charged to a wallet in credits: \`1,000,000\` credits are $1.00.

### First call

Create a key with [Create a key](#createKey), then send a request:

\`\`\`shell
curl "${BASE_URL}/v1/chat/completions" \\
  -H "Authorization: Bearer $SVC_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello"}]}'
\`\`\`

### Clients

- OpenAI-style clients use \`${BASE_URL}/v1\` as their base address.
- Anthropic-style clients use \`${BASE_URL}\`: they add \`/v1\` themselves.

Failures are described in [Error codes](/docs/errors). The body format follows
[RFC 8259](https://www.rfc-editor.org/rfc/rfc8259).`,
  },
  tags: [
    { name: 'Accounts', description: 'Register, log in, and read the account that is logged in.' },
    {
      name: 'API keys',
      description:
        'Keys call the API from your servers. To rotate one, create a new key, deploy it, then ' +
        'delete the old one: both work in between.',
    },
    { name: 'Chat', description: 'Requests to the models, in the format of OpenAI.' },
    { name: 'Wallet' },
    { name: 'OAuth' },
    { name: 'Service' },
  ],
  paths: {
    '/auth/register': {
      post: {
        operationId: 'register',
        tags: ['Accounts'],
        summary: 'Register',
        description: 'Creates an account with its welcome credits and opens a session.',
        security: [],
        requestBody: credentials,
        responses: {
          201: answer('The account, and a session that lasts 24 hours.', 'Session'),
          400: failure('The email or the password is refused.', 'invalid_email', 'weak_password'),
          409: failure('The email has an account already.', 'email_exists'),
          429: failure('More than 3 requests in a minute.', 'rate_limit_exceeded'),
        },
      },
    },
    '/auth/login': {
      post: {
        operationId: 'login',
        tags: ['Accounts'],
        summary: 'Log in',
        security: [],
        requestBody: credentials,
        responses: {
          200: answer('Default Response', 'Session'),
          401: failure('The email or the password is wrong.', 'invalid_credentials'),
        },
      },
    },
    '/auth/me': {
      get: {
        operationId: 'readAccount',
        tags: ['Accounts'],
        summary: 'Read the account',
        security: [{ session: [] }],
        responses: {
          200: answer('The account that is logged in.', 'User'),
          401: { $ref: '#/components/responses/Unauthorized' },
        },
      },
    },
    '/developers/keys': {
      post: {
        operationId: 'createKey',
        tags: ['API keys'],
        summary: 'Create a key',
        description: 'The answer holds the secret. It is shown **once**: we keep only its hash.',
        security: [{ session: [] }],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['name', 'billing_mode'],
                properties: {
                  name: {
                    type: 'string',
                    minLength: 1,
                    maxLength: 100,
                    description: "A name of your choosing, such as `Ada's laptop`.",
                    examples: ["Ada's laptop"],
                  },
                  billing_mode: {
                    anyOf: [
                      { type: 'string', const: 'developer' },
                      { type: 'string', const: 'user' },
                    ],
                    description: 'Whose wallet pays for calls with this key.',
                  },
                  tags: {
                    type: 'array',
                    maxItems: 10,
                    items: { type: 'string', maxLength: 40 },
                    description: 'Labels for your own use.',
                  },
                },
              },
            },
          },
        },
        responses: {
          201: answer('The key with its secret.', 'NewKey'),
          400: failure('A field is missing or has the wrong type.', 'bad_request'),
          401: { $ref: '#/components/responses/Unauthorized' },
        },
      },
      get: {
        operationId: 'listKeys',
        tags: ['API keys'],
        summary: 'List keys',
        security: [{ session: [] }],
        parameters: [
          {
            name: 'limit',
            in: 'query',
            description: 'How many to return.',
            required: true,
            schema: { type: 'integer', minimum: 1, maximum: 100, default: 50, examples: [20] },
          },
          {
            name: 'cursor',
            in: 'query',
            description: '`next_cursor` of the page before.',
            schema: { type: 'string', maxLength: 200 },
          },
        ],
        responses: {
          200: {
            description: 'Keys, newest first, without secrets.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['data', 'has_more', 'next_cursor'],
                  properties: {
                    data: { type: 'array', items: { $ref: '#/components/schemas/Key' } },
                    has_more: { type: 'boolean' },
                    next_cursor: { anyOf: [{ type: 'string' }, { type: 'null' }] },
                  },
                },
              },
            },
          },
          401: { $ref: '#/components/responses/Unauthorized' },
        },
      },
    },
    '/developers/keys/{id}': {
      parameters: [{ $ref: '#/components/parameters/KeyId' }],
      delete: {
        operationId: 'deleteKey',
        tags: ['API keys'],
        summary: 'Delete a key',
        description: 'Revokes the key. Calls that are running finish; new ones are refused.',
        security: [{ session: [] }],
        responses: {
          204: { description: 'The key is revoked.' },
          404: failure('There is no such key, or it is not yours.', 'not_found'),
        },
      },
    },
    '/v1/chat/completions': {
      post: {
        operationId: 'createChatCompletion',
        tags: ['Chat'],
        summary: 'Create a chat completion',
        description:
          'Holds the highest possible cost, calls the model, and charges exactly what was used.',
        security: [{ apiKey: [] }, { apiKeyHeader: [] }, { oauth: ['credits.spend'] }],
        parameters: [
          {
            name: 'X-Svc-User',
            in: 'header',
            description: 'Bills the linked end user with this external id.',
            schema: { type: 'string', maxLength: 255 },
          },
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: { $ref: '#/components/schemas/ChatRequest' } },
          },
        },
        responses: {
          200: {
            description: 'The completion, or a stream of it.',
            headers: rateLimitHeaders,
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Completion' } },
              'text/event-stream': {
                schema: { type: 'string' },
                example:
                  'data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n' +
                  'data: [DONE]\n\n' +
                  'data: {"svc":{"credits_used":42,"balance_before":1000,"balance_after":958}}',
              },
            },
          },
          402: failure('The wallet cannot cover the request.', 'insufficient_credits'),
          404: failure('There is no such model.', 'model_not_found'),
          429: failure('Too many requests.', 'rate_limit_exceeded', 'provider_rate_limited'),
          502: failure('The provider failed.', 'upstream_error'),
        },
      },
    },
    '/v1/balance': {
      get: {
        operationId: 'readBalance',
        tags: ['Wallet'],
        summary: 'Read the balance',
        security: [{ apiKey: [] }, { oauth: ['credits.read'] }],
        responses: {
          200: answer('The balance of the wallet that pays.', 'Balance'),
          403: failure('The token lacks `credits.read`.', 'insufficient_scope'),
        },
      },
    },
    '/v1/funding/credit': {
      post: {
        operationId: 'fundUser',
        tags: ['Wallet'],
        summary: 'Send credits to a user',
        security: [{ apiKey: [] }],
        parameters: [
          {
            name: 'Idempotency-Key',
            in: 'header',
            required: true,
            description: 'A retry with the same key moves nothing twice.',
            schema: { type: 'string', maxLength: 255, examples: ['order-1042'] },
          },
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['user_id', 'amount_credits'],
                properties: {
                  user_id: { type: 'string', format: 'uuid' },
                  amount_credits: { type: 'integer', minimum: 1, examples: [250000] },
                  metadata: { type: 'object', additionalProperties: { type: 'string' } },
                },
              },
            },
          },
        },
        responses: {
          200: answer('The transfer is booked.', 'Balance'),
          402: failure('Your wallet cannot cover it.', 'insufficient_credits'),
        },
      },
    },
    '/oauth/token': {
      post: {
        operationId: 'exchangeToken',
        tags: ['OAuth'],
        summary: 'Exchange a code or a refresh token',
        security: [{ client: [] }],
        requestBody: {
          required: true,
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                required: ['grant_type'],
                properties: {
                  grant_type: { enum: ['authorization_code', 'refresh_token'] },
                  code: { type: 'string', examples: ['svc_code_5Zq'] },
                },
              },
            },
          },
        },
        responses: {
          400: {
            description: 'The code did not verify.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['error'],
                  properties: {
                    error: { type: 'string' },
                    error_description: { type: 'string' },
                  },
                },
              },
            },
            'x-error-codes': ['invalid_grant'],
          },
        },
      },
    },
    '/health': {
      get: {
        operationId: 'readHealth',
        tags: ['Service'],
        summary: 'Check health',
        responses: {
          200: {
            description: 'The service answers.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['status'],
                  properties: { status: { type: 'string', const: 'ok' } },
                },
              },
            },
          },
        },
      },
    },
  },
  components: {
    securitySchemes: {
      session: {
        type: 'http',
        scheme: 'bearer',
        description: 'A session token, prefix `sess_`. Lasts 24 hours. Manages the account.',
      },
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key, prefix `sk-svc-`. The developer pays.',
      },
      apiKeyHeader: {
        type: 'apiKey',
        in: 'header',
        name: 'X-API-Key',
        description: 'The same API key in a header of its own.',
      },
      oauth: {
        type: 'oauth2',
        description: 'An OAuth access token, prefix `svc_token_`. The end user pays.',
      },
      client: { type: 'http', scheme: 'basic', description: '`client_id` and `client_secret`.' },
    },
    headers: {
      RateLimit: { description: 'Requests allowed in a minute.', schema: { type: 'integer' } },
    },
    parameters: {
      KeyId: {
        name: 'id',
        in: 'path',
        required: true,
        description: 'The `id` of the key, not its secret.',
        schema: { type: 'string', format: 'uuid' },
      },
    },
    responses: { Unauthorized: failure('There is no valid session.', 'unauthorized') },
    schemas: {
      Error: {
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['code', 'message', 'docs_url'],
            properties: {
              code: { type: 'string', description: 'Decide by this; it does not change.' },
              message: { type: 'string', description: 'For people.' },
              hint: { type: 'string', description: 'What to do about it.' },
              docs_url: { type: 'string', format: 'uri' },
            },
          },
        },
      },
      Credentials: {
        type: 'object',
        required: ['email', 'password'],
        properties: {
          email: { type: 'string', format: 'email', maxLength: 254 },
          password: { type: 'string', minLength: 8, maxLength: 200, examples: ['correct horse'] },
        },
      },
      Credits: { type: 'integer', description: 'Credits; 1,000,000 = $1.00.', examples: [1000000] },
      User: {
        type: 'object',
        required: ['id', 'email', 'balance'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          email: { type: 'string', format: 'email' },
          balance: { $ref: '#/components/schemas/Credits' },
        },
      },
      Session: {
        type: 'object',
        required: ['user', 'session_token', 'expires_at'],
        properties: {
          user: { $ref: '#/components/schemas/User' },
          session_token: {
            type: 'string',
            description: 'Prefix `sess_`.',
            examples: ['sess_8Jq2'],
          },
          expires_at: { type: 'string', format: 'date-time' },
        },
      },
      Key: {
        type: 'object',
        required: ['id', 'name', 'billing_mode', 'created_at'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          name: { type: 'string', examples: ["Ada's laptop"] },
          billing_mode: { type: 'string', enum: ['developer', 'user'] },
          created_at: { type: 'string', format: 'date-time' },
          last_used_at: { type: ['string', 'null'], format: 'date-time' },
        },
      },
      NewKey: {
        allOf: [
          { $ref: '#/components/schemas/Key' },
          {
            type: 'object',
            required: ['key'],
            properties: {
              key: {
                type: 'string',
                description: 'The whole secret. Shown once.',
                examples: ['sk-svc-7Qm4xW9c'],
              },
            },
          },
        ],
      },
      Balance: {
        type: 'object',
        required: ['balance'],
        properties: { balance: { $ref: '#/components/schemas/Credits' } },
      },
      Message: {
        type: 'object',
        required: ['role', 'content'],
        properties: {
          role: { enum: ['user', 'assistant', 'system', 'tool'] },
          content: {
            anyOf: [
              { type: 'string' },
              {
                type: 'array',
                items: {
                  type: 'object',
                  required: ['type'],
                  properties: { type: { type: 'string' }, text: { type: 'string' } },
                },
              },
            ],
            examples: ['Hello'],
          },
        },
      },
      ChatRequest: {
        type: 'object',
        required: ['model', 'messages'],
        properties: {
          model: {
            type: 'string',
            description: 'A name from `GET /v1/models`.',
            examples: ['gpt-4o-mini'],
          },
          messages: {
            type: 'array',
            minItems: 1,
            items: { $ref: '#/components/schemas/Message' },
            description: 'The conversation so far, oldest first.',
          },
          stream: {
            type: 'boolean',
            default: false,
            description: 'Sends the answer in pieces as it is written.',
          },
          temperature: { type: 'number', minimum: 0, maximum: 2, default: 1 },
          response_format: {
            type: 'object',
            properties: {
              type: { enum: ['text', 'json_object'] },
              json_schema: { $ref: '#/components/schemas/AnySchema' },
            },
          },
        },
      },
      AnySchema: {
        type: 'object',
        description: 'A JSON Schema, which may hold further ones.',
        properties: {
          title: { type: 'string' },
          items: { $ref: '#/components/schemas/AnySchema' },
          any_of: { type: 'array', items: { $ref: '#/components/schemas/AnySchema' } },
          not: { anyOf: [{ $ref: '#/components/schemas/AnySchema' }, { type: 'null' }] },
        },
      },
      Completion: {
        type: 'object',
        required: ['id', 'model', 'choices', 'usage', 'svc'],
        properties: {
          id: { type: 'string', examples: ['chatcmpl-9fK2'] },
          model: { type: 'string', examples: ['gpt-4o-mini'] },
          choices: {
            type: 'array',
            items: {
              type: 'object',
              required: ['index', 'message'],
              properties: {
                index: { type: 'integer' },
                message: { $ref: '#/components/schemas/Message' },
              },
            },
          },
          usage: {
            type: 'object',
            required: ['prompt_tokens', 'completion_tokens'],
            properties: {
              prompt_tokens: { type: 'integer', examples: [9] },
              completion_tokens: { type: 'integer', examples: [12] },
            },
          },
          svc: {
            type: 'object',
            required: ['credits_used', 'balance_before', 'balance_after'],
            properties: {
              credits_used: { $ref: '#/components/schemas/Credits' },
              balance_before: { $ref: '#/components/schemas/Credits' },
              balance_after: { $ref: '#/components/schemas/Credits', description: 'Afterwards.' },
            },
          },
        },
      },
    },
  },
}

export const errorRows: ErrorRow[] = [
  {
    code: 'weak_password',
    status: 400,
    message: 'The password is too short.',
    hint: 'Use at least 8 characters.',
    explanation: 'Passwords have at least `8` characters.',
  },
  {
    code: 'unauthorized',
    status: 401,
    message: 'A session is needed.',
    explanation: 'No session.',
  },
  { code: 'not_found', status: 404, message: 'Not found.', explanation: 'It is not there.' },
  {
    code: 'upstream_error',
    status: 502,
    message: 'The provider failed.',
    explanation: 'It broke.',
  },
]
