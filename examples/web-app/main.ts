// "Sign in and pay with your own credits": a button, the way back, and a question that the user pays for.
// No framework. SVC_URL, CLIENT_ID, CLIENT_SECRET and PORT come from the environment.

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  ask,
  begin,
  CONNECTIONS_PAGE,
  disconnect,
  explain,
  finish,
  type Held,
  type Leaving,
} from './svc.ts'

type Session = Partial<Held> & { id: string; leaving?: Leaving }

const SESSIONS_MAX = 10_000
const FORM_LENGTH_MAX = 16_384
const SIGN_IN = `<form method="post" action="/sign-in"><button>Sign in and pay with your own credits</button></form>`
const QUESTION = `<form method="post" action="/ask">
<label>Your question <input name="question" required maxlength="2000" autofocus></label> <button>Ask</button></form>
<form method="post" action="/disconnect"><button>Disconnect</button></form>`

/** In memory, so they end with the process. */
const sessions = new Map<string, Session>()

const web = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    const known = explain(error)
    if (!known) console.error(error)
    const { status, text } = known ?? { status: 500, text: 'Something went wrong on our side.' }
    show(response, status, `<p>${escape(text)}</p>${SIGN_IN}`)
  })
})
web.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => console.log(`Open ${origin()}`))

function origin(): string {
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}`
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', origin())
  const session = sessionOf(request)
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /':
      return show(response, 200, session?.tokens ? QUESTION : SIGN_IN)
    case 'POST /sign-in': {
      const { url: address, leaving } = await begin(`${origin()}/callback`)
      openSession(response, { id: randomUUID(), leaving })
      return redirect(response, address)
    }
    case 'GET /callback': {
      // Whoever did not leave from here was sent by somebody else.
      if (!session?.leaving) return show(response, 400, SIGN_IN)
      sessions.delete(session.id)
      const tokens = await finish(url, session.leaving)
      openSession(response, { id: randomUUID(), tokens })
      return redirect(response, '/')
    }
    case 'POST /ask':
      return await answer(response, session, await readField(request, 'question'))
    case 'POST /disconnect':
      if (session) sessions.delete(session.id)
      if (session?.tokens) await disconnect(session.tokens)
      return redirect(response, '/')
    default:
      return show(response, 404, '<p>No such page.</p>')
  }
}

async function answer(
  response: ServerResponse,
  session: Session | undefined,
  question: string,
): Promise<void> {
  if (!session?.tokens) return show(response, 401, SIGN_IN)
  const held = session as Session & Held
  try {
    const { choices, svc } = await ask(held, question)
    const said = escape(choices[0]?.message.content ?? '')
    const money = `That cost ${dollars(svc.credits_used)}. You have ${dollars(svc.balance_after)} left.`
    show(response, 200, `<blockquote>${said}</blockquote><p>${money}</p>${QUESTION}`)
  } catch (error) {
    const known = explain(error)
    if (!known) throw error
    if (known.ended) sessions.delete(session.id)
    const link =
      known.status === 402 ? ` <a href="${escape(CONNECTIONS_PAGE)}">Balance and caps</a>` : ''
    const next = known.ended ? SIGN_IN : QUESTION
    show(response, known.status, `<p>${escape(known.text)}${link}</p>${next}`)
  }
}

function sessionOf(request: IncomingMessage): Session | undefined {
  const [, id = ''] = /(?:^|; )web_app=([^;]+)/.exec(request.headers.cookie ?? '') ?? []
  return sessions.get(id)
}

// Each sign-in has a session of its own, so that nobody can prepare one for somebody else. SameSite keeps
// other sites from spending: a form of theirs comes without the cookie.
function openSession(response: ServerResponse, session: Session): void {
  const [oldest] = sessions.keys()
  if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest)
  sessions.set(session.id, session)
  response.setHeader('set-cookie', `web_app=${session.id}; Path=/; HttpOnly; SameSite=Lax`)
}

async function readField(request: IncomingMessage, name: string): Promise<string> {
  let form = ''
  for await (const chunk of request.setEncoding('utf8')) {
    form += chunk
    if (form.length > FORM_LENGTH_MAX) return ''
  }
  return new URLSearchParams(form).get(name) ?? ''
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'cache-control': 'no-store' }).end()
}

function show(response: ServerResponse, status: number, body: string): void {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }
  response.writeHead(status, headers).end(`<!doctype html><title>Ask</title><h1>Ask</h1>${body}`)
}

function dollars(credits: number): string {
  return `$${(credits / 1_000_000).toFixed(6)}`
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
