// POST /v1/keys/leaked: what secret scanners tell us, in the format of GitHub's partner programme.

import type { KeyObject } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { clientOf } from '../accounts/sessions.ts'
import type { Documents } from '../http/access.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { digestSecret } from '../platform/tokens.ts'
import { endLeakedKeys, type LeakParts, REPORTS_MAX, readReports } from './leaks.ts'
import { isSignedBy } from './scanner-signature.ts'

const BODY_LIMIT_BYTES = 512_000

const DOCUMENTS: Documents = {
  parameters: [
    {
      name: 'Github-Public-Key-Signature',
      in: 'header',
      description: 'Over the body. A wrong one is refused where SECRET_SCANNING_KEYS is set.',
      schema: { type: 'string' },
    },
  ],
  body: {
    'application/json': {
      schema: {
        type: 'array',
        maxItems: REPORTS_MAX,
        items: {
          type: 'object',
          required: ['token'],
          properties: {
            token: { type: 'string', examples: ['sk-svc-4fT9xQ2mWb7LrK0sVn3EjH5uYc0aBcDe'] },
            type: { type: 'string', examples: ['svc_api_key'] },
            url: { type: 'string', examples: ['https://github.com/octocat/hello/blob/main/.env'] },
            source: { type: 'string', examples: ['content'] },
          },
        },
      },
    },
  },
}

const Verdicts = Type.Array(
  Type.Object({
    token_hash: Type.String({ description: 'SHA-256 of the token, in hexadecimal digits.' }),
    token_type: Type.String({ examples: ['svc_api_key'] }),
    label: Type.Enum(['true_positive', 'false_positive']),
  }),
)

export function leakRoutes(
  app: App,
  parts: LeakParts & { scanner_keys: readonly KeyObject[] },
): void {
  app.post(
    '/v1/keys/leaked',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { access: 'public', raw_body: true, errors: ['bad_request'], documents: DOCUMENTS },
      schema: {
        tags: ['API keys'],
        operationId: 'report_leaked_keys',
        summary: 'Report keys found in public',
        description:
          'For secret scanners, in the format of GitHub. Each key ends at once, on every machine within a second, and its owner is told by mail. Whoever presents a key may end it: no credential is needed.',
        response: { 200: Verdicts },
      },
    },
    async (request) => {
      const { body } = request
      if (typeof body !== 'string') throw new ApiError('bad_request')
      const is_signed = readSignature(parts.scanner_keys, request, body)
      const reports = readReports(body)
      const labels = await endLeakedKeys(parts, reports, { client: clientOf(request), is_signed })
      return reports.map(({ token, type }, index) => ({
        token_hash: digestSecret(token).toString('hex'),
        token_type: type,
        label: labels[index] ?? 'false_positive',
      }))
    },
  )
}

/** Without keys of ours to hold it against, a signature says nothing. */
function readSignature(keys: readonly KeyObject[], request: FastifyRequest, body: string): boolean {
  const signature = request.headers['github-public-key-signature']
  if (signature === undefined || keys.length === 0) return false
  if (typeof signature === 'string' && isSignedBy(keys, { body, signature })) return true
  throw new ApiError('bad_request', {
    message: 'The signature of this report is wrong.',
    hint: 'The operator has set SECRET_SCANNING_KEYS: a signature must be of one of those keys. Without the header the report is taken too.',
  })
}
