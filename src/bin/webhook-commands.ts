// `svc webhooks …`: what a developer's terminal does with the API. It needs no database, only the address of a service.

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CallSignal, HttpFailure } from '../platform/http-call.ts'
import { createHttpClient } from '../platform/http-client.ts'
import { readArguments } from './arguments.ts'
import { UsageError } from './usage-error.ts'
import { describeLoss, describeRefusal, listen } from './webhook-listen.ts'

const HELP = `svc webhooks listen <url> [options]
  Send the events of an app to a url of this machine, as a webhook would be sent them, and print a line about each.
  What happens while nobody listens is not sent later. Ctrl-C ends it.

  --app <client_id>       the app; needed if you have more than one
  --events <a,b>          only these events, for example usage.completed,balance.low
  --low-balance <credits> tell balance.low when a balance falls below
  --api <url>             the service; PUBLIC_URL, or else http://localhost:8080
  --email <address>       whose account; you are asked for the password

  SVC_SESSION             a session token (sess_…), instead of email and password
  SVC_WEBHOOK_SECRET      a secret (whsec_…) that was printed before, to sign with it again`

const OPTIONS = {
  app: { type: 'string' },
  events: { type: 'string' },
  'low-balance': { type: 'string' },
  api: { type: 'string' },
  email: { type: 'string' },
} as const

const DEFAULT_API = 'http://localhost:8080'
const ANSWER_MS = 15_000
const ANSWER_BYTES_MAX = 1024 * 1024
const LISTED_APPS_MAX = 100

export async function runWebhookCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(args, { help: HELP, options: OPTIONS })
  if (values.help) return print(HELP)
  const [command, url, ...rest] = positionals
  if (command !== 'listen' || url === undefined || rest.length > 0) throw new UsageError(HELP)
  requireUrl(url)
  const api = (values.api ?? (process.env['PUBLIC_URL'] || DEFAULT_API)).replace(/\/+$/, '')
  requireUrl(api)
  const session = process.env['SVC_SESSION'] || (await signIn(api, values.email))
  const client_id = values.app ?? (await findOnlyApp(api, session))
  const wanted = {
    api,
    session,
    client_id,
    url,
    events: values.events,
    low_balance_threshold: values['low-balance'],
    secret: process.env['SVC_WEBHOOK_SECRET'] || undefined,
  }
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
  const colours = process.stdout.isTTY && !process.env['NO_COLOR']
  const counts = await listen(wanted, { print, colours, signal: stopping.signal })
  print(`${counts.delivered} delivered, ${counts.failed} failed`)
  process.exit()
}

function requireUrl(text: string): void {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return
  throw new UsageError(`${text} is no address, as http://localhost:3000/hooks is one`)
}

async function signIn(api: string, given_email: string | undefined): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new UsageError('set SVC_SESSION to a session token: there is no terminal to ask for one')
  }
  const email = given_email ?? (await ask('Email: ')).trim()
  const password = await ask('Password: ', { hidden: true })
  const body = JSON.stringify({ email, password })
  const { session_token } = await askService<{ session_token: string }>(`${api}/auth/login`, body)
  return session_token
}

/** What is hidden is not shown while it is typed: the terminal's own echo is off before the question is seen. */
async function ask(question: string, { hidden = false } = {}): Promise<string> {
  const { stdin: input, stderr } = process
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input, output: hidden ? nowhere : stderr, terminal: true })
  // Ctrl-C and Ctrl-D.
  const giveUp = () => process.exit(1)
  prompt.on('SIGINT', giveUp).on('close', giveUp)
  if (hidden) stderr.write(question)
  const answer = await prompt.question(question)
  prompt.off('close', giveUp).close()
  if (hidden) stderr.write('\n')
  return answer
}

type ListedApp = { client_id: string; name: string }

async function findOnlyApp(api: string, session: string): Promise<string> {
  const url = `${api}/developers/apps?limit=${LISTED_APPS_MAX}`
  const { data } = await askService<{ data: ListedApp[] }>(url, undefined, session)
  const [only] = data
  if (!only) throw new Error('you have no app yet: make one with POST /developers/apps')
  if (data.length === 1) return only.client_id
  const lines = data.map(({ client_id, name }) => `  --app ${client_id}  ${printable(name)}`)
  throw new UsageError(`you have several apps; choose one:\n${lines.join('\n')}`)
}

/** A name is shown in a terminal: without what could steer it. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '')
}

async function askService<Body>(url: string, body?: string, session?: string): Promise<Body> {
  const client = createHttpClient()
  try {
    const reply = await client.send({
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers: {
        ...(session !== undefined && { authorization: `Bearer ${session}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      limits: { headers_ms: ANSWER_MS, idle_ms: ANSWER_MS, total_ms: ANSWER_MS },
      signal: new CallSignal(),
    })
    const text = await reply.text(ANSWER_BYTES_MAX)
    if (reply.status !== 200) throw new Error(describeRefusal(reply.status, text))
    return JSON.parse(text) as Body
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error
    throw new Error(describeLoss(error, new URL(url).origin), { cause: error })
  } finally {
    await client.close()
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
