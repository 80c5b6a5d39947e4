// What the reference says of embeddings. The reader of a body says exactly what is wrong with one.

import { Type } from 'typebox'
import type { Documents } from '../../http/access.ts'
import type { Schema } from '../../http/reference/document.ts'
import { PAYER_PARAMETERS, SVC_SCHEMA, UPSTREAM_HEADERS } from '../chat-documents.ts'
import { INPUTS_MAX } from './request.ts'

export const EmbeddingsBody = Type.Object({
  model: Type.String({ examples: ['text-embedding-3-small'] }),
  input: Type.Unknown({
    description: `A text or up to ${INPUTS_MAX} of them; for OpenAI’s models also token ids.`,
    examples: [['The cat sat.', 'A dog ran.']],
  }),
  encoding_format: Type.Optional(
    Type.Enum(['float', 'base64'], {
      description: 'float if left out; base64 is of float32 numbers, little-endian.',
      examples: ['float'],
    }),
  ),
  dimensions: Type.Optional(
    Type.Integer({ minimum: 1, description: 'For shorter vectors.', examples: [256] }),
  ),
})

export const EMBEDDINGS_DESCRIPTION =
  'OpenAI’s format for every embedding model. The reply carries `svc`: what it cost and the balance before and after. `X-Svc-Generation-Id` names the call for `GET /v1/generations/:id`.'

const COUNT: Schema = { type: 'integer', minimum: 0, examples: [8] }

const REPLY: Schema = {
  type: 'object',
  required: ['object', 'data', 'model', 'usage', 'svc'],
  properties: {
    object: { type: 'string', const: 'list' },
    data: {
      type: 'array',
      items: {
        type: 'object',
        required: ['object', 'index', 'embedding'],
        properties: {
          object: { type: 'string', const: 'embedding' },
          index: { type: 'integer', description: 'Of the text.', examples: [0] },
          embedding: {
            description: 'Numbers, or base64.',
            type: ['array', 'string'],
            items: { type: 'number' },
          },
        },
      },
    },
    model: { type: 'string', examples: ['text-embedding-3-small'] },
    usage: {
      type: 'object',
      required: ['prompt_tokens', 'total_tokens'],
      properties: { prompt_tokens: COUNT, total_tokens: COUNT },
    },
    svc: SVC_SCHEMA,
  },
}

export const EMBEDDINGS_DOCUMENTS: Documents = {
  parameters: PAYER_PARAMETERS,
  reply_headers: UPSTREAM_HEADERS,
  reply: { 'application/json': { schema: REPLY } },
}
