// Whether the page that made a call may make it. A user's token is for the pages of its app; a key or a session is for no page of
// another site, which would spend although it may not read the answer.

import type { FastifyRequest } from 'fastify'
import { isOpenToPages } from '../http/cors.ts'
import { isCrossSite } from '../http/session-cookie.ts'
import { requireOriginOf } from '../oauth/origins.ts'
import { ApiError } from '../platform/errors.ts'
import type { Credential } from './credentials.ts'

type Call = { request: FastifyRequest; credential: Credential; public_origin: string }

export function requireOwnPage({ request, credential, public_origin }: Call): void {
  if (request.headers.origin === undefined || !isOpenToPages(request)) return
  const { principal } = request
  if (principal?.kind === 'token') return requireOriginOf(request, principal.origins)
  if (credential.kind !== 'key' && credential.kind !== 'session') return
  // Both headers, or it is no browser: some programs send an Origin of their own making.
  const is_browser = request.headers['sec-fetch-site'] !== undefined
  if (is_browser && isCrossSite(request, public_origin)) throw keyInPage()
}

function keyInPage(): ApiError {
  return new ApiError('forbidden', {
    message: 'An API key or session cannot be used from a page of another site.',
    hint: 'Whoever opens the page could read it. Let users sign in and pay themselves (/sdk/svc.js), or call from your server.',
  })
}
