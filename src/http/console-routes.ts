// /console/: the web console. Its files come from memory; its page is the same for everybody, with the theme and
// what is public about this service as attributes of <html>, so that no script stands in the page itself.

import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'
import { type ConsoleFiles, readConsoleFiles } from './console-files.ts'
import { html, htmlText } from './html.ts'
import { renderNotice, sendPage } from './page.ts'
import { CONSOLE_HOME, loginAddressFor } from './return-path.ts'
import type { App } from './server.ts'
import { readCookie } from './session-cookie.ts'
import { sendInBestForm } from './static-file.ts'

/**
 * No outside origin, no inline code, and no string ever becomes code: the console has no Trusted Types policy. Sound
 * that the playground made plays from the memory of the page.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "media-src blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; " +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
const PERMISSIONS =
  'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()'
const THEME_COOKIE = 'svc_theme'
const THEMES = ['system', 'light', 'dark'] as const

export type ConsoleOptions = { public_url: string; mode: string }

export function consoleRoutes(app: App, options: ConsoleOptions): void {
  const files = readConsoleFiles()
  const page = { config: { access: 'public', page: true }, schema: { hide: true } } as const
  // Bytes in memory that every browser keeps: counting them would use up the limit of a visit.
  const asset = { config: { access: 'public', unlimited: true }, schema: { hide: true } } as const
  const showPage = files ? pageSender(files, options) : sendUnbuilt

  app.get('/console', page, (_request, reply) => reply.redirect(CONSOLE_HOME))
  app.get('/console/*', page, (request, reply) =>
    isSignedIn(request) ? showPage(request, reply) : reply.redirect(loginAddressFor(request.url)),
  )
  app.get('/console/assets/:name', asset, (request, reply) => {
    const { name } = request.params as { name: string }
    const file = files?.assets.get(name)
    if (!file) throw new ApiError('not_found', { message: 'The console has no such file.' })
    reply.header('cache-control', 'public, max-age=31536000, immutable')
    return sendInBestForm(request, reply, file)
  })
}

function isSignedIn({ principal }: FastifyRequest): boolean {
  return principal?.kind === 'session' && principal.by_cookie
}

type Send = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** The page in its three themes, made and compressed once. */
function pageSender(files: ConsoleFiles, options: ConsoleOptions): Send {
  const pages = new Map<string, { text: string; compressed: Buffer }>(
    THEMES.map((theme) => {
      const text = files.index.replace(/<html[^>]*>/, htmlTag(theme, options))
      return [theme, { text, compressed: gzipSync(text) }]
    }),
  )
  return (request, reply) => {
    const found = pages.get(readCookie(request, THEME_COOKIE) ?? '') ?? pages.get('system')
    if (!found) throw new Error('every theme has a page')
    asConsole(reply)
    const takes_gzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
    if (!takes_gzip) return reply.send(found.text)
    return reply.header('content-encoding', 'gzip').send(found.compressed)
  }
}

function htmlTag(theme: (typeof THEMES)[number], { mode, public_url }: ConsoleOptions): string {
  return htmlText(
    html`<html lang="en"${theme !== 'system' && html` data-theme="${theme}"`} data-mode="${mode}" data-base-url="${public_url}">`,
  )
}

function asConsole(reply: FastifyReply): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', POLICY)
    .header('x-frame-options', 'DENY')
    .header('referrer-policy', 'same-origin')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('permissions-policy', PERMISSIONS)
    .header('cache-control', 'private, no-cache')
    .header('vary', 'accept-encoding, cookie')
}

function sendUnbuilt(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const page = renderNotice({
    title: 'The console is not built',
    text: 'The API works. To build the console, run npm run console:build where this service runs, and start it again.',
    hint: 'It needs the development packages: npm ci --include=dev.',
  })
  return sendPage(reply, page, 503)
}
