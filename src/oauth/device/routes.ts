// POST /oauth/device_authorization: where a program without a browser begins (RFC 8628).

import { Type } from 'typebox'
import { clientOf } from '../../accounts/client.ts'
import { DEVICE_PAGE } from '../../http/return-path.ts'
import { acceptAll } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import type { AppRow } from '../app-store.ts'
import { type ClientParts, requireClient } from '../client-authentication.ts'
import { type Parameters, readForm } from '../parameters.ts'
import { requireChallenge } from '../pkce.ts'
import { parseScopes } from '../scopes.ts'
import { requireActive } from '../suspension.ts'
import { INTERVAL_S, LIFETIME_S, openRequest } from './requests.ts'

// For the documentation; the handler reads the form itself and answers with OAuth's own codes.
const DeviceForm = Type.Object({
  client_id: Type.Unknown({ examples: ['svc_client_2f6f0d1c5a10'] }),
  scope: Type.Optional(
    Type.Unknown({
      description: 'Some of the app’s `allowed_scopes`; all of them if absent.',
      examples: ['credits.read credits.spend'],
    }),
  ),
  code_challenge: Type.Optional(
    Type.Unknown({
      description:
        'PKCE: the SHA-256 of a verifier, in base64url. Every poll then needs the verifier.',
    }),
  ),
  code_challenge_method: Type.Optional(Type.Unknown({ description: 'Only `S256`.' })),
})

const DeviceReply = Type.Object({
  device_code: Type.String({
    description: 'What the program polls with. Show it to nobody.',
    examples: ['svc_device_7b3e9d7e'],
  }),
  user_code: Type.String({ description: 'What the user types.', examples: ['BCDF-GHJK'] }),
  verification_uri: Type.String({ examples: ['https://svc.example/device'] }),
  verification_uri_complete: Type.String({
    description: 'The same with the code filled in, for a QR code.',
    examples: ['https://svc.example/device?user_code=BCDF-GHJK'],
  }),
  expires_in: Type.Integer({ description: 'Seconds.', examples: [LIFETIME_S] }),
  interval: Type.Integer({
    description: 'Seconds between two polls; 5 more after each `slow_down`.',
    examples: [INTERVAL_S],
  }),
})

export function deviceRoutes(app: App, parts: ClientParts & { public_url: string }): void {
  app.post(
    '/oauth/device_authorization',
    {
      config: {
        access: 'public',
        dialect: 'oauth',
        accepts_form: true,
        counts_itself: true,
        errors: ['invalid_request', 'invalid_client', 'invalid_scope', 'unauthorized_client'],
      },
      validatorCompiler: acceptAll,
      schema: {
        tags: ['OAuth'],
        operationId: 'device_authorization',
        summary: 'Begin a sign-in on another device',
        description:
          'Form-encoded (RFC 8628), for native apps with `device_grant`. Show `user_code` and `verification_uri` to the user, and poll POST /oauth/token with `device_code` every `interval` seconds. The codes last ten minutes.',
        consumes: ['application/x-www-form-urlencoded'],
        body: DeviceForm,
        response: { 200: DeviceReply },
      },
    },
    async (request, reply) => {
      const { app: client, parameters } = await requireClient(parts, { request, reply }, readForm)
      requireActive(client)
      const wish = { ...readWish(client, parameters), client: clientOf(request) }
      const codes = await openRequest(parts, client, wish)
      reply.header('cache-control', 'no-store')
      return presentCodes(codes, `${parts.public_url}${DEVICE_PAGE}`)
    },
  )
}

function readWish(app: AppRow, parameters: Parameters) {
  const scope = parameters.read('scope')
  const has_challenge = parameters.read('code_challenge') !== undefined
  return {
    scopes: scope === undefined ? app.allowed_scopes : parseScopes(scope, app.allowed_scopes),
    code_challenge: has_challenge ? requireChallenge(parameters) : null,
  }
}

function presentCodes(codes: { device_code: string; user_code: string }, page: string) {
  const query = new URLSearchParams({ user_code: codes.user_code }).toString()
  return {
    ...codes,
    verification_uri: page,
    verification_uri_complete: `${page}?${query}`,
    expires_in: LIFETIME_S,
    interval: INTERVAL_S,
  }
}
