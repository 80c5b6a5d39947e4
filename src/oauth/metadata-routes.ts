// Where everything is, and what it can do (RFC 8414).

import { Type } from 'typebox'
import type { App } from '../http/server.ts'
import { DEVICE_GRANT_TYPE } from './device/exchange.ts'
import { DPOP_ALGORITHM } from './dpop.ts'
import { SCOPES } from './scopes.ts'

export const GRANT_TYPES = ['authorization_code', 'refresh_token', DEVICE_GRANT_TYPE] as const
const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none']
const METADATA_CACHE = 'public, max-age=3600'

export function tokenEndpoint(issuer: string): string {
  return `${issuer}/oauth/token`
}

export function metadataRoute(app: App, issuer: string): void {
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: tokenEndpoint(issuer),
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: GRANT_TYPES,
    scopes_supported: [...SCOPES],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    dpop_signing_alg_values_supported: [DPOP_ALGORITHM],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  }
  app.get(
    '/.well-known/oauth-authorization-server',
    {
      config: { access: 'public' },
      schema: {
        tags: ['OAuth'],
        operationId: 'oauth_metadata',
        summary: 'Where everything is (RFC 8414)',
        response: {
          200: Type.Unsafe<typeof metadata>({ type: 'object', additionalProperties: true }),
        },
      },
    },
    (_request, reply) => {
      reply.header('cache-control', METADATA_CACHE).header('access-control-allow-origin', '*')
      return metadata
    },
  )
}
