// The three bodies of an error, as the OpenAPI document shows them. error-handler.ts writes them.

const CODE = { type: 'string', description: 'Match on this.', examples: ['bad_request'] }
const MESSAGE = { type: 'string', examples: ['The request is not valid.'] }
const REQUEST_ID = { type: 'string', examples: ['req_0b1e7c52a0f94f5f8d6a1c7f2f1f4a31'] }
const DOCS_URL = { type: 'string', format: 'uri' }
const OPTIONAL = {
  hint: { type: 'string', description: 'What to do about it.' },
  param: { type: 'string', description: 'The field at fault, where it is one field.' },
  provider_code: {
    type: 'string',
    description: "The model provider's own code, such as `context_length_exceeded`.",
  },
}
/** Of `second_factor_required`. */
const SECOND_FACTOR = {
  challenge_id: { type: 'string', description: 'Of `second_factor_required`, as the next three.' },
  factors: {
    type: 'array',
    items: { type: 'string', enum: ['passkey', 'totp', 'recovery_code'] },
    description: 'What can be shown.',
  },
  expires_at: { type: 'string', format: 'date-time', description: 'When the challenge ends.' },
  passkey_options: { type: 'object', description: 'For `navigator.credentials.get()`.' },
}

export const ERROR_SCHEMAS = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'type', 'docs_url', 'request_id'],
        properties: {
          code: CODE,
          message: MESSAGE,
          type: { type: 'string', examples: ['invalid_request_error'] },
          ...OPTIONAL,
          ...SECOND_FACTOR,
          docs_url: DOCS_URL,
          request_id: REQUEST_ID,
        },
      },
    },
  },
  /** What Anthropic's clients read. */
  MessagesError: {
    type: 'object',
    required: ['type', 'error', 'request_id'],
    properties: {
      type: { type: 'string', const: 'error' },
      error: {
        type: 'object',
        required: ['type', 'message', 'code', 'docs_url'],
        properties: {
          type: { type: 'string', description: 'The code.', examples: ['bad_request'] },
          message: MESSAGE,
          code: CODE,
          ...OPTIONAL,
          docs_url: DOCS_URL,
        },
      },
      request_id: REQUEST_ID,
    },
  },
  /** RFC 6749, section 5.2, and our own fields beside it. */
  OAuthError: {
    type: 'object',
    required: ['error', 'error_description', 'code', 'message', 'docs_url', 'request_id'],
    properties: {
      error: { type: 'string', examples: ['invalid_request'] },
      error_description: { type: 'string', examples: ['The request is not valid.'] },
      code: CODE,
      message: MESSAGE,
      hint: OPTIONAL.hint,
      docs_url: DOCS_URL,
      request_id: REQUEST_ID,
    },
  },
}
