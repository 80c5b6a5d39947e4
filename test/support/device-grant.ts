// Sign-in on another device (RFC 8628): a service, a native app that may use it, and what the device and its user do.

import assert from 'node:assert/strict'
import { createListeningApp } from './listening-app.ts'
import {
  createOAuthApp,
  deviceProofOf,
  type OAuthApp,
  type Person,
  postForm,
  type Service,
  Visitor,
} from './oauth.ts'

export const NATIVE = {
  name: 'Poem CLI',
  client_type: 'native',
  device_grant: true,
  redirect_uris: ['http://127.0.0.1/callback'],
}
export const CAP = { cap: 'monthly', cap_usd: '5.00', cap_shown: '5.00' }
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'

export type Codes = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

export async function openDeviceGrant() {
  const service = await createListeningApp()
  const developer = await service.register('maker@poems.example')
  const app = await createOAuthApp(service, developer, NATIVE)
  let addresses = 0
  /** Each from an address of its own: wrong codes are counted by address. */
  const from = (remoteAddress = `10.1.${addresses >> 8}.${addresses++ & 255}`): Service => ({
    request: (given) => service.request({ ...given, remoteAddress }),
  })
  /** A browser in which somebody is signed in, without the work of checking a password. */
  const visit = (user: Person, at = from()): Visitor => {
    const visitor = new Visitor(at)
    visitor.cookies.set('svc_session', user.token)
    return visitor
  }
  return { service, developer, app, from, visit, ...deviceOf(service, app, from) }
}

/** What the program does. */
function deviceOf(service: Service, app: OAuthApp, from: () => Service) {
  const begin = async (
    fields: Record<string, string> = {},
    options: { client?: OAuthApp; at?: Service; agent?: string } = {},
  ) => {
    const { client = app, at = service, agent = 'poem-cli/1.2' } = options
    const { client_id } = client
    const headers = { 'user-agent': agent }
    return await postForm(at, '/oauth/device_authorization', { client_id, ...fields }, headers)
  }
  const beginCodes = async (fields: Record<string, string> = {}): Promise<Codes> => {
    const reply = await begin(fields, { at: from() })
    assert.equal(reply.statusCode, 200, reply.body)
    return reply.json<Codes>()
  }
  const poll = async (device_code: string, fields: Record<string, string> = {}) => {
    const asked = { grant_type: GRANT_TYPE, client_id: app.client_id, device_code, ...fields }
    return await postForm(service, '/oauth/token', asked)
  }
  const pollFor = async (device_code: string): Promise<string> => {
    const reply = await poll(device_code)
    return reply.statusCode === 200 ? 'tokens' : reply.json<{ error: string }>().error
  }
  return { begin, beginCodes, poll, pollFor }
}

export async function enter(visitor: Visitor, user_code: string) {
  return await visitor.fill('/device', { user_code })
}

/** Types the code and answers the page that comes of it. */
export async function decide(
  visitor: Visitor,
  user_code: string,
  fields: Record<string, string> = { decision: 'allow', ...CAP },
) {
  const page = await enter(visitor, user_code)
  assert.equal(page.statusCode, 200, page.body)
  const form = { ...deviceProofOf(page.body), user_code, ...fields }
  return await visitor.submit('/device/decision', form)
}

/** What a page says. */
export const textOf = (page: string) =>
  page
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
