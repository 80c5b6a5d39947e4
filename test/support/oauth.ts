// An app, a user's browser without a screen, and the walk between them: authorize, consent, exchange.

import { createHash, randomBytes } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { type Answer, PASSWORD, type TestApp } from './app.ts'

export type Person = Awaited<ReturnType<TestApp['register']>>

export type OAuthApp = {
  id: string
  name: string
  client_id: string
  client_secret: string
  redirect_uris: string[]
}

/** One without a server has no secret. */
export type PublicApp = Omit<OAuthApp, 'client_secret'>
export type AnyApp = PublicApp & { client_secret?: string }

export type TokenReply = {
  access_token: string
  refresh_token: string
  token_type: string
  expires_in: number
  scope: string
  storage_mode?: string
  external_user_id?: string
}

export const CALLBACK = 'https://app.example/callback'

/** The application in this process, or one over a socket. */
export type Service = { request: (given: InjectOptions) => Promise<Answer> }

type Posting = { post: (url: string, body: unknown, headers: Person['bearer']) => Promise<Answer> }

export async function createOAuthApp(
  service: Posting,
  developer: Person,
  body: object = {},
): Promise<OAuthApp> {
  const wanted = { name: 'Poem Machine', redirect_uris: [CALLBACK], ...body }
  const reply = await service.post('/developers/apps', wanted, developer.bearer)
  if (reply.statusCode !== 201) throw new Error(`apps answered ${reply.statusCode}: ${reply.body}`)
  return reply.json<OAuthApp>()
}

export async function createPublicApp(
  service: Posting,
  developer: Person,
  body: { client_type: 'browser' | 'native' } & Record<string, unknown>,
): Promise<PublicApp> {
  return await createOAuthApp(service, developer, body)
}

export function makePkce() {
  const code_verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  return { code_verifier, code_challenge }
}

export function authorizeUrl(app: PublicApp, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    client_id: app.client_id,
    redirect_uri: app.redirect_uris[0] ?? CALLBACK,
    response_type: 'code',
    state: 'state-1',
    ...parameters,
  })
  return `/oauth/authorize?${query.toString()}`
}

/** Keeps cookies, sends what a browser sends, follows nothing by itself. */
export class Visitor {
  readonly #service: Service
  readonly cookies = new Map<string, string>()

  constructor(service: Service) {
    this.#service = service
  }

  async send(given: InjectOptions): Promise<Answer> {
    const reply = await this.#service.request({
      ...given,
      headers: {
        accept: 'text/html,application/xhtml+xml',
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...given.headers,
      },
    })
    for (const cookie of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return reply
  }

  get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send({ method: 'GET', url, headers })
  }

  submit(
    url: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.send({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
      payload: new URLSearchParams(fields).toString(),
    })
  }

  /** Opens the page of a form and sends it filled in. */
  async fill(url: string, fields: Record<string, string>): Promise<Answer> {
    const page = await this.get(url)
    return await this.submit(url, { csrf: csrfOf(page.body), ...fields })
  }

  async login(email: string, query = ''): Promise<Answer> {
    return await this.fill(`/oauth/login${query}`, { email, password: PASSWORD })
  }
}

/** A browser in which somebody is signed in. */
export async function signIn(service: Service, user: Pick<Person, 'email'>): Promise<Visitor> {
  const visitor = new Visitor(service)
  await visitor.login(user.email)
  return visitor
}

export function csrfOf(page: string): string {
  return /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
}

/** What stands hidden in the page on which somebody decides about a device. */
export function deviceProofOf(page: string): { csrf: string; terms: string } {
  return { csrf: csrfOf(page), terms: /name="terms" value="([^"]+)"/.exec(page)?.[1] ?? '' }
}

/** The cap as the page proposes it, where there has to be one. */
export function requiredCapOf(page: string): { cap: string; cap_usd: string } | undefined {
  const cap = /type="hidden" name="cap" value="([^"]+)"/.exec(page)?.[1]
  const cap_usd = /name="cap_usd" inputmode="decimal" value="([^"]+)"/.exec(page)?.[1] ?? ''
  return cap === undefined ? undefined : { cap, cap_usd }
}

/** Answers a yes to the consent page, and what the app gets back. */
export async function allow(
  visitor: Visitor,
  url: string,
  fields: Record<string, string> = {},
): Promise<URLSearchParams> {
  const page = await visitor.get(url)
  const shown = { csrf: csrfOf(page.body), ...requiredCapOf(page.body) }
  const reply = await visitor.submit(url, { ...shown, decision: 'allow', ...fields })
  if (reply.statusCode !== 303)
    throw new Error(`consent answered ${reply.statusCode}: ${reply.body}`)
  return new URL(String(reply.headers.location)).searchParams
}

export async function postToken(
  service: Service,
  app: Pick<AnyApp, 'client_id' | 'client_secret'>,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { client_id, client_secret } = app
  const client = { client_id, ...(client_secret !== undefined && { client_secret }) }
  return await postForm(service, '/oauth/token', { ...client, ...fields }, headers)
}

export async function postForm(
  service: Service,
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return await service.request({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields).toString(),
  })
}

/** Consent up to the code, with the verifier that goes with it. */
export async function obtainCode(
  service: Service,
  options: {
    app: AnyApp
    user: Person
    /** A browser in which the user is signed in; a new one otherwise. */
    visitor?: Visitor
    parameters?: Record<string, string>
    fields?: Record<string, string>
  },
): Promise<{ code: string; code_verifier: string; answer: URLSearchParams }> {
  const { app, user, parameters = {}, fields = {} } = options
  const { code_verifier, code_challenge } = makePkce()
  const visitor = options.visitor ?? (await signIn(service, user))
  const answer = await allow(visitor, authorizeUrl(app, { code_challenge, ...parameters }), fields)
  return { code: answer.get('code') ?? '', code_verifier, answer }
}

/** The whole walk: consent and exchange. */
export async function connect(
  service: Service,
  options: Parameters<typeof obtainCode>[1] & {
    external_user_id?: string
    /** Of the exchange: a proof of a key. */
    headers?: Record<string, string>
  },
): Promise<TokenReply> {
  const { code, code_verifier } = await obtainCode(service, options)
  const { external_user_id, headers = {} } = options
  const fields = {
    grant_type: 'authorization_code',
    code,
    code_verifier,
    // As apps should: it says for whom the code is.
    ...(external_user_id !== undefined && { external_user_id }),
  }
  const reply = await postToken(service, options.app, fields, headers)
  if (reply.statusCode !== 200) throw new Error(`token answered ${reply.statusCode}: ${reply.body}`)
  return reply.json<TokenReply>()
}

/** The user under the developer's own name for them, which the app confirms. */
export async function connectHosted(
  service: Service,
  options: Parameters<typeof obtainCode>[1] & { external_user_id: string },
): Promise<TokenReply> {
  const { external_user_id, parameters } = options
  return await connect(service, {
    ...options,
    parameters: { storage_mode: 'hosted', external_user_id, ...parameters },
  })
}
