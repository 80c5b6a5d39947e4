// The endpoints that OAuth libraries call: metadata, token, revoke, userinfo. Their bodies are RFC 6749's.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requireAccount } from '../accounts/accounts.ts'
import { type TokenPrincipal, tokenOf } from '../http/access.ts'
import { acceptAll, Credits, Id } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Db } from '../platform/db.ts'
import { readBalance } from '../wallet/postings.ts'
import { type ClientParts, requireClient } from './client-authentication.ts'
import { isPublic } from './client-types.ts'
import { exchangeCode } from './code-exchange.ts'
import { DEVICE_GRANT_TYPE, exchangeDeviceCode } from './device/exchange.ts'
import { type DpopProof, readProof } from './dpop.ts'
import type { GrantParts } from './grants.ts'
import { GRANT_TYPES, metadataRoute, tokenEndpoint } from './metadata-routes.ts'
import { readForm, refusal } from './parameters.ts'
import { refreshTokens } from './refresh.ts'
import { revokeToken } from './revocation.ts'
import { requireActive } from './suspension.ts'
import type { IssuedTokens } from './tokens.ts'

export type ProtocolParts = GrantParts & ClientParts & { public_url: string }

const TAGS = ['OAuth']

// For the documentation; the handlers read the form themselves and answer with OAuth's own codes.
const TokenForm = Type.Object({
  grant_type: Type.Unknown({
    description:
      '`authorization_code`, `refresh_token` or `urn:ietf:params:oauth:grant-type:device_code`.',
    examples: ['authorization_code'],
  }),
  code: Type.Optional(Type.Unknown({ examples: ['svc_code_2f6f0d1c'] })),
  code_verifier: Type.Optional(
    Type.Unknown({
      description:
        'PKCE; with `code`, and with `device_code` if that was asked for with a challenge.',
    }),
  ),
  redirect_uri: Type.Optional(Type.Unknown({ description: 'If sent, the one of the request.' })),
  external_user_id: Type.Optional(
    Type.Unknown({
      description:
        'With `code` and hosted storage: your id of the user whose session received the code. Always send it: a code of a request that named another id is `invalid_grant`.',
    }),
  ),
  device_code: Type.Optional(
    Type.Unknown({
      description: 'Of POST /oauth/device_authorization; asked with again and again.',
    }),
  ),
  refresh_token: Type.Optional(Type.Unknown()),
  scope: Type.Optional(Type.Unknown({ description: 'With `refresh_token`: fewer scopes.' })),
  client_id: Type.Optional(Type.Unknown({ description: 'Or HTTP Basic.' })),
  client_secret: Type.Optional(
    Type.Unknown({ description: 'Of a `web_server` app; the others have none.' }),
  ),
})

const TokenReply = Type.Object({
  access_token: Type.String({ examples: ['svc_token_7b3e9d7e'] }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.', examples: [3600] }),
  refresh_token: Type.Optional(
    Type.String({
      description: 'Good once. None with hosted storage.',
      examples: ['svc_refresh_'],
    }),
  ),
  scope: Type.String({ examples: ['credits.read credits.spend'] }),
  storage_mode: Type.Optional(Type.Literal('hosted')),
  external_user_id: Type.Optional(Type.String()),
})

const ENDPOINT = {
  access: 'public',
  dialect: 'oauth',
  accepts_form: true,
  counts_itself: true,
} as const

export function protocolRoutes(app: App, parts: ProtocolParts): void {
  metadataRoute(app, parts.public_url)
  tokenRoute(app, parts)
  revokeRoute(app, parts)
  userinfoRoutes(app, parts)
}

function tokenRoute(app: App, parts: ProtocolParts): void {
  app.post(
    '/oauth/token',
    {
      config: {
        ...ENDPOINT,
        errors: [
          'invalid_request',
          'invalid_client',
          'invalid_grant',
          'invalid_dpop_proof',
          'invalid_scope',
          'unauthorized_client',
          'authorization_pending',
          'slow_down',
          'expired_token',
          'access_denied',
        ],
      },
      validatorCompiler: acceptAll,
      schema: {
        tags: TAGS,
        operationId: 'token',
        summary: 'Exchange a code, poll for a device, or refresh',
        description:
          'Form-encoded. A refresh token is good once: the reply has the next one. If the reply is lost, the same request within 30 seconds gets the same tokens again; later, the whole grant ends. A browser or native app sends its `client_id` alone; a `DPoP` proof with the code binds its refresh tokens to that key.',
        consumes: ['application/x-www-form-urlencoded'],
        body: TokenForm,
        response: { 200: TokenReply },
      },
    },
    async (request, reply) => {
      reply.header('pragma', 'no-cache')
      return await answerToken(parts, request, reply)
    },
  )
}

async function answerToken(parts: ProtocolParts, request: FastifyRequest, reply: FastifyReply) {
  const exchange = { request, reply }
  const { app, parameters, grant_type } = await requireClient(parts, exchange, readTokenForm)
  requireActive(app)
  // A server's secret binds its refresh tokens already.
  const proof = isPublic(app) ? readTokenProof(parts, request) : undefined
  switch (grant_type) {
    case 'authorization_code': {
      const tokens = await exchangeCode(parts, app, {
        code: parameters.require('code'),
        // One that is absent is a wrong one, and answered like it.
        code_verifier: parameters.read('code_verifier') ?? '',
        redirect_uri: parameters.read('redirect_uri'),
        external_user_id: parameters.read('external_user_id'),
        proof,
      })
      const { external_user_id } = tokens
      return {
        ...presentTokens(tokens),
        ...(external_user_id !== null && { storage_mode: 'hosted' as const, external_user_id }),
      }
    }
    case DEVICE_GRANT_TYPE: {
      const tokens = await exchangeDeviceCode(parts, app, {
        device_code: parameters.require('device_code'),
        code_verifier: parameters.read('code_verifier'),
        proof,
      })
      return presentTokens(tokens)
    }
    case 'refresh_token': {
      const tokens = await refreshTokens(parts, app, {
        refresh_token: parameters.require('refresh_token'),
        scope: parameters.read('scope'),
        proof,
      })
      return presentTokens(tokens)
    }
  }
}

function readTokenProof(parts: ProtocolParts, request: FastifyRequest): DpopProof | undefined {
  const url = tokenEndpoint(parts.public_url)
  return readProof(request.headers['dpop'], { method: 'POST', url, now: parts.clock.now() })
}

function presentTokens(tokens: IssuedTokens) {
  const { access_token, refresh_token, expires_in, scopes } = tokens
  return {
    access_token,
    token_type: 'Bearer' as const,
    expires_in,
    ...(refresh_token !== undefined && { refresh_token }),
    scope: scopes.join(' '),
  }
}

function revokeRoute(app: App, parts: ProtocolParts): void {
  app.post(
    '/oauth/revoke',
    {
      config: { ...ENDPOINT, errors: ['invalid_request', 'invalid_client'] },
      validatorCompiler: acceptAll,
      schema: {
        tags: TAGS,
        operationId: 'revoke',
        summary: 'Revoke a token',
        description:
          'Form-encoded (RFC 7009). A refresh token ends the whole grant, an access token only itself. The answer is the same for a token nobody knows.',
        consumes: ['application/x-www-form-urlencoded'],
        body: Type.Object({
          token: Type.Unknown({ examples: ['svc_refresh_'] }),
          token_type_hint: Type.Optional(Type.Unknown()),
          client_id: Type.Optional(Type.Unknown({ description: 'Or HTTP Basic.' })),
          client_secret: Type.Optional(Type.Unknown()),
        }),
        response: { 200: Type.Object({}) },
      },
    },
    async (request, reply) => {
      const { app: client, parameters } = await requireClient(parts, { request, reply }, readForm)
      await revokeToken(parts, client, parameters.require('token'))
      return {}
    },
  )
}

function userinfoRoutes(app: App, parts: ProtocolParts): void {
  const config = { access: 'token', errors: ['user_not_found'] } as const
  const schema = {
    tags: TAGS,
    summary: 'Who granted this token?',
    description: 'With the scope `credits.read` the reply has the balance too.',
    response: {
      200: Type.Object({
        sub: Id,
        id: Id,
        email: Type.String({ examples: ['ada@example.com'] }),
        email_verified: Type.Boolean({
          description:
            'Whether the user has shown that the address is theirs. Know users by `sub`: addresses change.',
        }),
        balance: Type.Optional(Credits),
      }),
    },
  }
  app.get(
    '/oauth/userinfo',
    { config, schema: { ...schema, operationId: 'userinfo' } },
    (request) => describeUser(parts.db, tokenOf(request)),
  )
  app.post(
    '/oauth/userinfo',
    { config, schema: { ...schema, operationId: 'userinfo_post' } },
    (request) => describeUser(parts.db, tokenOf(request)),
  )
}

async function describeUser(db: Db, { account_id, scopes }: TokenPrincipal) {
  const { id, email, email_verified_at } = await requireAccount(db, account_id)
  const wallet = scopes.includes('credits.read') ? await readBalance(db, account_id) : undefined
  const email_verified = email_verified_at !== null
  return { sub: id, id, email, email_verified, ...(wallet && { balance: wallet.balance }) }
}

function readTokenForm(request: FastifyRequest) {
  const { parameters } = readForm(request)
  const given = parameters.require('grant_type')
  const grant_type = GRANT_TYPES.find((one) => one === given)
  if (!grant_type) throw refusal(`grant_type is one of ${GRANT_TYPES.join(', ')}.`)
  return { parameters, grant_type }
}
