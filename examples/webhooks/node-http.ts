// A receiver of webhooks with nothing but Node. WEBHOOK_SECRET and PORT come from the environment.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isRecentFromSvc } from './signature.ts'

const { WEBHOOK_SECRET = '', PORT = '3000' } = process.env
// With an empty secret anybody could sign.
if (!WEBHOOK_SECRET.startsWith('whsec_')) throw new Error('WEBHOOK_SECRET is not set')

const BODY_BYTES_MAX = 1024 * 1024
const SEEN_MAX = 10_000

type Event = { id: string; type: string; created_at: string; data: Record<string, unknown> }

/** Ids of events that were taken. A real receiver keeps them in its database, in the transaction of its own work. */
const seen = new Set<string>()

const web = createServer((request, response) => {
  receive(request)
    .then((status) => response.writeHead(status).end())
    .catch((error: unknown) => {
      console.error(error)
      response.writeHead(500).end()
    })
})
web.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Waiting at http://localhost:${(web.address() as AddressInfo).port}/hooks`)
})

async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== 'POST' || request.url !== '/hooks') return 404
  const body = await readBody(request)
  if (!body) return 413
  if (!isRecentFromSvc(body, request.headers, WEBHOOK_SECRET)) return 401
  const event = JSON.parse(body.toString('utf8')) as Event
  // The same event may come twice: the answer to the first may have been lost.
  if (seen.has(event.id)) return 200
  remember(event.id)
  // Answer first: whoever takes longer than ten seconds is sent the event again.
  setImmediate(() => handle(event))
  return 200
}

function handle({ id, type, data }: Event): void {
  console.log(`${type} ${id} ${JSON.stringify(data)}`)
}

function remember(id: string): void {
  const [oldest] = seen
  if (seen.size >= SEEN_MAX && oldest !== undefined) seen.delete(oldest)
  seen.add(id)
}

/** Undefined: it is longer than any event. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > BODY_BYTES_MAX) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
