// /device: where somebody who is signed in types the code of another device, and decides about it. The address may carry
// the code; it is only filled in, and nothing is looked up before the form is sent.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireAccount } from '../../accounts/accounts.ts'
import { addressBucket } from '../../http/address-bucket.ts'
import { html } from '../../http/html.ts'
import { renderNotice, sendFormPage } from '../../http/page.ts'
import { DEVICE_PAGE, loginAddressFor } from '../../http/return-path.ts'
import type { App } from '../../http/server.ts'
import { readBalance } from '../../wallet/postings.ts'
import { actorOf } from '../actor.ts'
import { capOfForm, proposeCap, readConsentCap, type ShownCap } from '../cap-form.ts'
import { proveForm } from '../consent.ts'
import { type PageParts, requireViewerForm, type Viewer, viewerOf } from '../page-session.ts'
import { type Parameters, readParameters, refusal } from '../parameters.ts'
import { findConnection } from '../store.ts'
import { readUserCode } from './codes.ts'
import {
  approveDevice,
  type DecisionParts,
  denyDevice,
  findOpenRequest,
  type OpenRequest,
} from './decision.ts'
import { renderCodeForm, renderDeviceConsent } from './page.ts'

export type DevicePageParts = DecisionParts & PageParts

type Exchange = { request: FastifyRequest; reply: FastifyReply; viewer: Viewer }

/** Binds the form with the code to the page that it came from. */
const CODE_FORM = 'device code'
const TYPED_MAX = 32
const NO_SUCH_CODE =
  'No device waits with this code. It may have expired or been used: look at your device, or begin there again.'
const NOT_A_CODE = 'A code has eight letters, such as BCDF-GHJK, and no vowels.'

export function devicePages(app: App, parts: DevicePageParts): void {
  const shown = { config: { access: 'public', page: true }, schema: { hide: true } } as const
  const form = { config: { ...shown.config, accepts_form: true }, schema: { hide: true } } as const
  app.get('/device', shown, (request, reply) =>
    withViewer({ request, reply }, (exchange) => askCode(parts, exchange, prefillOf(request))),
  )
  app.post('/device', form, (request, reply) =>
    withViewer({ request, reply }, (exchange) => enterCode(parts, exchange)),
  )
  app.post('/device/decision', form, (request, reply) =>
    withViewer({ request, reply }, (exchange) => decide(parts, exchange)),
  )
}

/** Whoever is not signed in does that first, and comes back to the page with the code. */
async function withViewer(
  { request, reply }: Omit<Exchange, 'viewer'>,
  work: (exchange: Exchange) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const viewer = viewerOf(request)
  if (viewer) return await work({ request, reply, viewer })
  const user_code = prefillOf(request)
  const query = user_code === '' ? '' : `?${new URLSearchParams({ user_code }).toString()}`
  return reply.redirect(loginAddressFor(DEVICE_PAGE + query), 303)
}

async function askCode(
  parts: DevicePageParts,
  { reply, viewer }: Exchange,
  typed: string,
  fault?: string,
): Promise<FastifyReply> {
  const { email } = await requireAccount(parts.db, viewer.account_id)
  const csrf = proveForm(viewer.session_token, CODE_FORM, parts.clock.now())
  const page = renderCodeForm({ csrf, typed, email, fault })
  return sendFormPage(reply, page, { status: fault === undefined ? 200 : 400 })
}

async function enterCode(parts: DevicePageParts, exchange: Exchange): Promise<FastifyReply> {
  const { request, viewer } = exchange
  const form = readParameters(request.body)
  requireViewerForm(parts, request, { csrf: form.read('csrf'), viewer, subject: CODE_FORM })
  const found = await lookUp(parts, exchange, form)
  if (typeof found === 'string') {
    const typed = (form.read('user_code') ?? '').slice(0, TYPED_MAX)
    return await askCode(parts, exchange, typed, found)
  }
  const { account_id } = viewer
  const known = await findConnection(parts.db, { account_id, app_id: found.app.id })
  return await askDecision(parts, exchange, found, proposeCap(found.app, known))
}

/** The request, or what is wrong with the code. */
async function lookUp(
  parts: DevicePageParts,
  { request, viewer }: Exchange,
  form: Parameters,
): Promise<OpenRequest | string> {
  const user_code = readUserCode(form.read('user_code') ?? '')
  // What cannot be a code is a slip of the finger, not a guess.
  if (user_code === undefined) return NOT_A_CODE
  const guesser = { account_id: viewer.account_id, ip: request.ip }
  return (await findOpenRequest(parts, user_code, guesser)) ?? NO_SUCH_CODE
}

async function askDecision(
  parts: DevicePageParts,
  { request, reply, viewer }: Exchange,
  open: OpenRequest,
  cap: ShownCap,
): Promise<FastifyReply> {
  const [account, developer, wallet] = await Promise.all([
    requireAccount(parts.db, viewer.account_id),
    requireAccount(parts.db, open.app.developer_id),
    readBalance(parts.db, viewer.account_id),
  ])
  const now = parts.clock.now()
  const page = renderDeviceConsent({
    ...open,
    csrf: proveForm(viewer.session_token, describeTerms(open), now),
    terms: describeTerms(open),
    email: account.email,
    developer_email: developer.email,
    balance: wallet?.balance ?? 0n,
    cap,
    now,
    is_same_address: addressBucket(request.ip) === addressBucket(open.request.asked_ip),
  })
  return sendFormPage(reply, page, { status: cap.fault === undefined ? 200 : 400 })
}

async function decide(parts: DevicePageParts, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, viewer } = exchange
  const form = readParameters(request.body)
  const csrf = form.read('csrf')
  // Before the code is looked up: a page of somebody else would use up the guesses of whoever reads it.
  requireViewerForm(parts, request, { csrf, viewer, subject: form.read('terms') ?? '' })
  const open = await lookUp(parts, exchange, form)
  // Decided in another tab, or too late: nothing was changed, and the next code is typed here.
  if (typeof open === 'string') return await askCode(parts, exchange, '', open)
  requireViewerForm(parts, request, { csrf, viewer, subject: describeTerms(open) })
  switch (form.read('decision')) {
    case 'deny':
      if (!(await denyDevice(parts, open, actorOf(request)))) break
      return sendFormPage(reply, renderDenied(open))
    case 'allow': {
      const { scopes } = open.request
      const cap = readConsentCap({ app: open.app, scopes }, form)
      if (cap?.fault !== undefined) return await askDecision(parts, exchange, open, cap)
      const approval = {
        account_id: viewer.account_id,
        cap: cap && capOfForm(cap),
        actor: actorOf(request),
      }
      if (!(await approveDevice(parts, open, approval))) break
      return sendFormPage(reply, renderAllowed(open))
    }
    case undefined:
    default:
      throw refusal('decision is allow or deny.')
  }
  return await askCode(parts, exchange, '', NO_SUCH_CODE)
}

/** What was shown is what is approved: also the price, which the developer may change meanwhile. */
function describeTerms({ request, app }: OpenRequest): string {
  return ['device', request.id, app.markup_bps, ...request.scopes].join(' ')
}

function prefillOf(request: FastifyRequest): string {
  const given: unknown = new Map(Object.entries(request.query ?? {})).get('user_code')
  return typeof given === 'string' ? given.slice(0, TYPED_MAX) : ''
}

function renderAllowed({ app }: OpenRequest): string {
  return renderNotice({
    title: 'Your device is connected',
    text: `${app.name} can go on now. Look at your device; you can close this page.`,
    details: html`<p>Within a minute it is among your <a href="/oauth/connections">connected apps</a>. If it was not you who
started this, disconnect it there.</p>`,
  })
}

function renderDenied({ app }: OpenRequest): string {
  return renderNotice({
    title: 'Denied',
    text: `${app.name} gets no access to your account.`,
    hint: 'If somebody sent you the code, they wanted to spend your credits. You can close this page.',
  })
}
