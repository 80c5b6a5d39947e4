// The documentation: the API reference, the error pages and the document they are made from. Rendered once
// at start, no outside asset, no script. The assets of all pages are served here too.

import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, ERROR_CODES, errorEntry } from '../platform/errors.ts'
import { renderError } from './error-handler.ts'
import { type ErrorBody, renderErrors } from './errors-page.ts'
import { asPage, wantsPage } from './page.ts'
import { pageStyle } from './page-style.ts'
import { passkeyScript } from './passkey-script.ts'
import type { OpenApiDocument } from './reference/document.ts'
import { renderReference } from './reference/page.ts'
import { CONSOLE_HOME } from './return-path.ts'
import type { App } from './server.ts'

const EXAMPLE_REQUEST_ID = 'req_0b1e7c52a0f94f5f8d6a1c7f2f1f4a31'
const CACHE_CONTROL = 'public, max-age=300'

/** The document and the pages are made at the first request, when the last route is known. */
export function docsRoutes(
  app: App,
  makeDocument: () => OpenApiDocument,
  public_url: string,
): void {
  const page = { config: { access: 'public' }, schema: { hide: true } } as const
  const errorBody = exampleBody(public_url)
  const reference = once(() =>
    renderReference(makeDocument(), {
      base_url: public_url,
      errors: errorRows(),
      errorBody,
      document_url: '/openapi.json',
    }),
  )
  const errors = once(() => renderErrors(errorRows(), { base_url: public_url, errorBody }))
  const style = once(() => pageStyle)
  const script = once(() => passkeyScript)
  const document = once(() => JSON.stringify(makeDocument()))

  // A person wants to see their account; a program that looks around finds the reference.
  app.get('/', page, (request, reply) =>
    reply.redirect(wantsPage(request) ? CONSOLE_HOME : '/docs'),
  )
  app.get('/docs', page, (request, reply) => sendCompressed(request, asPage(reply), reference()))
  app.get('/docs/errors', page, (request, reply) =>
    sendCompressed(request, asPage(reply), errors()),
  )
  app.get('/assets/style.css', page, (request, reply) =>
    sendCompressed(request, reply.type('text/css; charset=utf-8'), style()),
  )
  app.get('/assets/passkey.js', page, (request, reply) =>
    sendCompressed(request, reply.type('text/javascript; charset=utf-8'), script()),
  )
  app.get('/openapi.json', page, (request, reply) =>
    sendCompressed(request, reply.type('application/json; charset=utf-8'), document()),
  )
}

type Rendered = { text: string; compressed: Buffer }

/** Made at the first request, and compressed once: a reference is long and says much twice. */
function once(make: () => string): () => Rendered {
  let made: Rendered | undefined
  return () => {
    if (!made) {
      const text = make()
      made = { text, compressed: gzipSync(text) }
    }
    return made
  }
}

function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  rendered: Rendered,
): FastifyReply {
  reply.header('cache-control', CACHE_CONTROL).header('vary', 'accept-encoding')
  const accepted = request.headers['accept-encoding']
  if (!accepted?.toString().includes('gzip')) return reply.send(rendered.text)
  return reply.header('content-encoding', 'gzip').send(rendered.compressed)
}

export function errorRows() {
  return ERROR_CODES.map((code) => ({ code, ...errorEntry(code) }))
}

/** An error as it is really sent, so that the examples cannot drift from it. */
function exampleBody(public_url: string): ErrorBody {
  return (code, dialect) => {
    const known = ERROR_CODES.find((candidate) => candidate === code)
    if (!known) return undefined
    const context = { dialect, request_id: EXAMPLE_REQUEST_ID, public_url }
    return JSON.parse(renderError(new ApiError(known), context))
  }
}
