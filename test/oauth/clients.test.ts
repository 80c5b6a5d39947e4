// Seven OAuth libraries, as docs/connect-an-app.md shows them, against a server that really listens: sign in,
// consent, exchange, refresh, call. And our error codes, as each library reports them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Auth, type AuthConfig } from '@auth/core'
import type { App, Kept } from '../../examples/clients/app.ts'
import * as arctic from '../../examples/clients/arctic.ts'
import { svcProvider } from '../../examples/clients/auth-js.ts'
import * as badgateway from '../../examples/clients/badgateway.ts'
import * as oauth4webapi from '../../examples/clients/oauth4webapi.ts'
import * as openid_client from '../../examples/clients/openid-client.ts'
import { svcStrategy, type User } from '../../examples/clients/passport-oauth2.ts'
import * as simple_oauth2 from '../../examples/clients/simple-oauth2.ts'
import { consentAt, createListeningApp } from '../support/listening-app.ts'
import { createOAuthApp, postForm } from '../support/oauth.ts'

const service = await createListeningApp()
/** How each request to the token endpoint brought the client secret. */
const token_requests: ('header' | 'form')[] = []
service.app.server.on('request', ({ url, headers }) => {
  if (url === '/oauth/token') token_requests.push(headers.authorization ? 'header' : 'form')
})
const developer = await service.register()
const user = await service.register()

/** One for each library: ten wrong secrets in a minute are the limit of an app and an address. */
async function registerApp(): Promise<{ app: App; impostor: App }> {
  const redirect_uri = 'http://localhost:3000/callback'
  const { client_id, client_secret } = await createOAuthApp(service, developer, {
    redirect_uris: [redirect_uri, 'http://localhost:3000/api/auth/callback/svc'],
  })
  const app = { issuer: service.address, client_id, client_secret, redirect_uri }
  return { app, impostor: { ...app, client_secret: 'svc_secret_guessed' } }
}

type Tokens = { access_token: string; refresh_token?: string | undefined }

type Library = {
  begin(app: App): { url: string; kept: Kept } | Promise<{ url: string; kept: Kept }>
  finish(app: App, callback: URL, kept: Kept): Promise<Tokens>
  refresh(app: App, refresh_token: string): Promise<Tokens>
  readUser?(app: App, access_token: string): Promise<{ sub: string }>
  /** Where the library puts the code of an error reply. */
  codeOf(error: Fault): unknown
  authenticates_by: 'header' | 'form'
}

type Fault = Error & {
  error?: unknown
  code?: unknown
  oauth2Code?: unknown
  data?: { payload?: { error?: unknown } }
}

const LIBRARIES: Record<string, Library> = {
  oauth4webapi: { ...oauth4webapi, codeOf: (fault) => fault.error, authenticates_by: 'form' },
  'openid-client': { ...openid_client, codeOf: (fault) => fault.error, authenticates_by: 'form' },
  'simple-oauth2': {
    ...simple_oauth2,
    codeOf: (fault) => fault.data?.payload?.error,
    authenticates_by: 'header',
  },
  arctic: { ...arctic, codeOf: (fault) => fault.code, authenticates_by: 'header' },
  '@badgateway/oauth2-client': {
    begin: badgateway.begin,
    finish: async (...given) => fromBadgateway(await badgateway.finish(...given)),
    refresh: async (client, refreshToken) =>
      fromBadgateway(
        await badgateway.refresh(client, { accessToken: '', expiresAt: null, refreshToken }),
      ),
    codeOf: (fault) => fault.oauth2Code,
    authenticates_by: 'header',
  },
}

for (const [name, library] of Object.entries(LIBRARIES)) {
  const { app, impostor } = await registerApp()
  const connect = async () => {
    const { url, kept } = await library.begin(app)
    return { callback: await consentAt(service, user, url), kept }
  }

  test(`${name}: from the link to a call that the user pays, and on after a refresh`, async () => {
    const { callback, kept } = await connect()
    const seen = watchTokenRequests()
    const first = await library.finish(app, callback, kept)
    assert.deepEqual(seen(), [library.authenticates_by])
    assert.equal((await userinfo(first.access_token)).sub, user.user_id)
    assert.equal(await payerOf(first.access_token), 'user')
    if (library.readUser) {
      assert.equal((await library.readUser(app, first.access_token)).sub, user.user_id)
    }
    const second = await library.refresh(app, first.refresh_token ?? '')
    assert.notEqual(second.refresh_token, first.refresh_token)
    assert.equal(await payerOf(second.access_token), 'user')
  })

  test(`${name}: an answer with another state or from another server is not taken`, async () => {
    const { callback, kept } = await connect()
    await assert.rejects(library.finish(app, callback, { ...kept, state: 'another' }))
    const elsewhere = new URL(callback)
    elsewhere.searchParams.set('iss', 'https://evil.example')
    await assert.rejects(library.finish(app, elsewhere, kept))
    assert.ok((await library.finish(app, callback, kept)).access_token)
  })

  test(`${name}: a no of the user is an error`, async () => {
    const { url, kept } = await library.begin(app)
    const callback = await consentAt(service, user, url, { decision: 'deny' })
    await assert.rejects(library.finish(app, callback, kept), (fault: Fault) =>
      `${fault.message} ${String(fault.error)}`.includes('access_denied'),
    )
  })

  test(`${name}: reads invalid_client and invalid_grant`, async () => {
    const { callback, kept } = await connect()
    const codeOf = async (work: Promise<unknown>) => library.codeOf(await faultOf(work))
    assert.equal(await codeOf(library.finish(impostor, callback, kept)), 'invalid_client')
    const { refresh_token = '' } = await library.finish(app, callback, kept)
    assert.equal(await codeOf(library.refresh(impostor, refresh_token)), 'invalid_client')
    assert.equal(await codeOf(library.finish(app, callback, kept)), 'invalid_grant')
    // The second use of the code has ended the grant.
    assert.equal(await codeOf(library.refresh(app, refresh_token)), 'invalid_grant')
  })
}

type Passed = { url?: string; user?: User; failed?: string; error?: Fault }

/** What Passport does around a strategy, for one request. */
function authenticate(client: App, session: object, callback?: URL): Promise<Passed> {
  const strategy = svcStrategy(client)
  return new Promise((resolve) => {
    strategy.redirect = (url) => resolve({ url })
    strategy.success = (person) => resolve({ user: person })
    strategy.fail = ({ message = '' }) => resolve({ failed: message })
    strategy.error = (error) => resolve({ error: error as Fault })
    strategy.authenticate({
      query: Object.fromEntries(callback?.searchParams ?? []),
      session,
    })
  })
}

const passport = await registerApp()

test('passport-oauth2: from the link to a user who pays', async () => {
  const { app } = passport
  const session = {}
  const { url = '' } = await authenticate(app, session)
  const callback = await consentAt(service, user, url)
  const seen = watchTokenRequests()
  const { user: person } = await authenticate(app, session, callback)
  assert.deepEqual(seen(), ['form'])
  assert.deepEqual([person?.sub, person?.email], [user.user_id, user.email])
  assert.equal(await payerOf(person?.access_token ?? ''), 'user')
  // Refreshing is not Passport's: any of the other libraries does it.
  const next = await arctic.refresh(app, person?.refresh_token ?? '')
  assert.equal(await payerOf(next.access_token), 'user')
})

test('passport-oauth2: a wrong state, a no, a wrong secret and a used code', async () => {
  const { app, impostor } = passport
  const session = {}
  const begin = async () => (await authenticate(app, session)).url ?? ''
  const callback = await consentAt(service, user, await begin())
  const strange = new URL(callback)
  strange.searchParams.set('state', 'another')
  assert.match((await authenticate(app, session, strange)).failed ?? '', /state/)

  const denied = await consentAt(service, user, await begin(), { decision: 'deny' })
  assert.match((await authenticate(app, session, denied)).failed ?? '', /denied/)

  const again = await consentAt(service, user, await begin())
  const kept = structuredClone(session)
  assert.equal((await authenticate(impostor, { ...kept }, again)).error?.code, 'invalid_client')
  assert.ok((await authenticate(app, structuredClone(session), again)).user)
  assert.equal(
    (await authenticate(app, structuredClone(session), again)).error?.code,
    'invalid_grant',
  )
})

const auth_js = await registerApp()

/** A browser at a site that uses Auth.js. */
class AuthVisitor {
  readonly errors: { cause?: { err?: Fault } }[] = []
  readonly details: string[] = []
  readonly #cookies = new Map<string, string>()
  readonly #config: AuthConfig

  constructor(provider: ReturnType<typeof svcProvider>) {
    this.#config = {
      providers: [provider],
      secret: 'for a test',
      trustHost: true,
      basePath: '/api/auth',
      logger: {
        error: (error) => this.errors.push(error as { cause?: { err?: Fault } }),
        warn: () => {},
        debug: (...said) => this.details.push(JSON.stringify(said)),
      },
      callbacks: {
        jwt: ({ token, account }) => ({ ...token, ...account }),
        session: ({ session, token }) => ({ ...session, token }),
      },
    }
  }

  copyTo(other: AuthVisitor): AuthVisitor {
    for (const [name, value] of this.#cookies) other.#cookies.set(name, value)
    return other
  }

  async send(url: string | URL, form?: Record<string, string>): Promise<Response> {
    const reply = await Auth(
      new Request(new URL(url, 'http://localhost:3000/api/auth/'), {
        method: form ? 'POST' : 'GET',
        headers: {
          cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        },
        ...(form && { body: new URLSearchParams(form) }),
      }),
      this.#config,
    )
    for (const cookie of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      this.#cookies.set(name, value)
    }
    return reply
  }

  /** Presses the button, and answers where that leads. */
  async begin(): Promise<string> {
    const { csrfToken } = (await (await this.send('csrf')).json()) as { csrfToken: string }
    const reply = await this.send('signin/svc', { csrfToken })
    return reply.headers.get('location') ?? ''
  }
}

test('@auth/core: the callback succeeds and gives the profile, by either way to send the secret', async () => {
  const provider = svcProvider(auth_js.app)
  const by_header = { ...provider, client: { token_endpoint_auth_method: 'client_secret_basic' } }
  for (const [given, way] of [
    [provider, 'form'],
    [by_header, 'header'],
  ] as const) {
    const visitor = new AuthVisitor(given)
    const callback = await consentAt(service, user, await visitor.begin())
    const seen = watchTokenRequests()
    const reply = await visitor.send(callback)
    assert.deepEqual(visitor.errors, [])
    assert.deepEqual(seen(), [way])
    assert.equal(reply.headers.get('location'), 'http://localhost:3000')
    const { token } = (await (await visitor.send('session')).json()) as {
      token: { providerAccountId: string; email: string; access_token: string }
    }
    assert.deepEqual([token.providerAccountId, token.email], [user.user_id, user.email])
    assert.equal(await payerOf(token.access_token), 'user')
  }
})

test('@auth/core: without issuer the answer is refused, because it says who it is from', async () => {
  const { issuer: _, ...provider } = svcProvider(auth_js.app)
  const visitor = new AuthVisitor(provider)
  const callback = await consentAt(service, user, await visitor.begin())
  const reply = await visitor.send(callback)
  assert.match(reply.headers.get('location') ?? '', /error=Configuration/)
  assert.match(String(visitor.errors[0]?.cause?.err?.message), /"iss"/)
})

test('@auth/core: reads access_denied, invalid_client and invalid_grant', async () => {
  const denying = new AuthVisitor(svcProvider(auth_js.app))
  const denied = await consentAt(service, user, await denying.begin(), { decision: 'deny' })
  assert.match((await denying.send(denied)).headers.get('location') ?? '', /OAuthCallbackError/)
  assert.match(denying.details.join(), /access_denied/)

  const guessing = new AuthVisitor(svcProvider(auth_js.impostor))
  await guessing.send(await consentAt(service, user, await guessing.begin()))
  assert.equal(guessing.errors[0]?.cause?.err?.error, 'invalid_client')

  // By header, a refusal has to carry a challenge, and that is then what is reported.
  const by_header = { token_endpoint_auth_method: 'client_secret_basic' }
  const challenged = new AuthVisitor({ ...svcProvider(auth_js.impostor), client: by_header })
  await challenged.send(await consentAt(service, user, await challenged.begin()))
  assert.equal(challenged.errors[0]?.cause?.err?.code, 'OAUTH_WWW_AUTHENTICATE_CHALLENGE')

  // Its cookies are good once; a browser that kept them sends the code a second time.
  const visitor = new AuthVisitor(svcProvider(auth_js.app))
  const callback = await consentAt(service, user, await visitor.begin())
  const keeper = visitor.copyTo(new AuthVisitor(svcProvider(auth_js.app)))
  await visitor.send(callback)
  assert.deepEqual(visitor.errors, [])
  await keeper.send(callback)
  assert.equal(keeper.errors[0]?.cause?.err?.error, 'invalid_grant')
})

test('a second use of a refresh token within the grace gives the same pair; later it ends the grant', async () => {
  const { app } = await registerApp()
  const { url, kept } = arctic.begin(app)
  const first = await arctic.finish(app, await consentAt(service, user, url), kept)
  const second = await arctic.refresh(app, first.refresh_token)
  const repeated = await arctic.refresh(app, first.refresh_token)
  assert.equal(repeated.refresh_token, second.refresh_token)
  service.clock.advance(31_000)
  const fault = await faultOf(arctic.refresh(app, first.refresh_token))
  assert.equal(fault.code, 'invalid_grant')
  const reply = await postForm(service, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: second.refresh_token,
    client_id: app.client_id,
    client_secret: app.client_secret,
  })
  assert.equal(reply.json().error, 'invalid_grant')
})

/** How the requests to the token endpoint from here on bring the client secret. */
function watchTokenRequests(): () => ('header' | 'form')[] {
  const start = token_requests.length
  return () => token_requests.slice(start)
}

async function userinfo(token: string): Promise<{ sub: string }> {
  const headers = { authorization: `Bearer ${token}` }
  return (await (await fetch(`${service.address}/oauth/userinfo`, { headers })).json()) as {
    sub: string
  }
}

/** Who pays for a chat completion with this token. */
async function payerOf(token: string): Promise<string> {
  const reply = await fetch(`${service.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi.' }] }),
  })
  const body = (await reply.json()) as { svc?: { billing_mode: string } }
  return body.svc?.billing_mode ?? JSON.stringify(body)
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  return await work.then(
    () => assert.fail('it should have failed'),
    (fault: unknown) => fault as Fault,
  )
}

function fromBadgateway(token: { accessToken: string; refreshToken: string | null }): Tokens {
  return { access_token: token.accessToken, refresh_token: token.refreshToken ?? undefined }
}
