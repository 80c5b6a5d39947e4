// Hosted storage: Svc keeps the user's consent under your own id for them, you keep no token. Linked once, the
// user pays for calls that name them beside your API key. No library but node's own.
// SVC_URL, CLIENT_ID, CLIENT_SECRET, API_KEY and PORT come from the environment.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const { SVC_URL = 'http://localhost:8080', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
const { API_KEY = '', PORT = '3000' } = process.env
const PENDING_MAX = 10_000

/** Links under way, by the user's own id. */
const pending = new Map<string, { state: string; code_verifier: string }>()

const web = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error)
    response.writeHead(500).end('Something went wrong on our side.\n')
  })
})
web.listen(Number(PORT), '127.0.0.1', () => console.log(`Open ${callbackUri().origin}/link`))

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', callbackUri())
  const user_id = signedInUser(request, response)
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /link':
      response.writeHead(303, { location: beginLink(user_id) }).end()
      return
    case 'GET /callback':
      await finishLink(user_id, url.searchParams)
      response.end('Linked. Now POST /ask.\n')
      return
    case 'POST /ask': {
      const { status, body } = await ask(user_id, 'Say hello.')
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
      return
    }
    default:
      response.writeHead(404).end('No such page.\n')
  }
}

function beginLink(user_id: string): string {
  const state = randomBytes(32).toString('base64url')
  const code_verifier = randomBytes(32).toString('base64url')
  const [oldest] = pending.keys()
  if (pending.size >= PENDING_MAX && oldest !== undefined) pending.delete(oldest)
  pending.set(user_id, { state, code_verifier })
  const query = new URLSearchParams({
    client_id: CLIENT_ID,
    redirect_uri: callbackUri().href,
    response_type: 'code',
    scope: 'credits.spend',
    state,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
    storage_mode: 'hosted',
    external_user_id: user_id,
  })
  return `${SVC_URL}/oauth/authorize?${query.toString()}`
}

/** The exchange makes the link; the tokens of the reply are not needed. */
async function finishLink(user_id: string, answer: URLSearchParams): Promise<void> {
  const kept = pending.get(user_id)
  pending.delete(user_id)
  const is_ours = kept && answer.get('state') === kept.state && answer.get('iss') === SVC_URL
  if (!is_ours) throw new Error('this answer is to another question')
  const reply = await fetch(`${SVC_URL}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      code_verifier: kept.code_verifier,
      redirect_uri: callbackUri().href,
      // Of the session, not of the address bar: there the user could have written somebody else's.
      external_user_id: user_id,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
    }),
  })
  if (!reply.ok) throw new Error(`no link: ${await reply.text()}`)
}

/** 404 user_not_found: not linked, or the user has ended it. 402: out of credits, or at the user's cap. */
async function ask(user_id: string, content: string): Promise<{ status: number; body: string }> {
  const reply = await fetch(`${SVC_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${API_KEY}`,
      'x-svc-user': user_id,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }),
  })
  return { status: reply.status, body: await reply.text() }
}

/** Stands for your own login: an id that nobody can guess or choose. Never take it from a parameter. */
function signedInUser(request: IncomingMessage, response: ServerResponse): string {
  const [, known] = /(?:^|; )user=([0-9a-f-]{36})(?:;|$)/.exec(request.headers.cookie ?? '') ?? []
  const user_id = known ?? randomUUID()
  if (known === undefined) {
    response.setHeader('set-cookie', `user=${user_id}; Path=/; HttpOnly; SameSite=Lax`)
  }
  return user_id
}

function callbackUri(): URL {
  return new URL(`http://127.0.0.1:${(web.address() as AddressInfo).port}/callback`)
}
