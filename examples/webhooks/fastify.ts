// A receiver of webhooks with Fastify and the standardwebhooks library. WEBHOOK_SECRET and PORT come from the environment.

import Fastify from 'fastify'
import { Webhook } from 'standardwebhooks'

const { WEBHOOK_SECRET = '', PORT = '3000' } = process.env
const SEEN_MAX = 10_000

type Event = { id: string; type: string; created_at: string; data: Record<string, unknown> }

const webhook = new Webhook(WEBHOOK_SECRET)
/** Ids of events that were taken. A real receiver keeps them in its database, in the transaction of its own work. */
const seen = new Set<string>()

const app = Fastify()

// The signature is of the bytes, so the body must not be parsed before it is verified.
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
  done(null, body)
})

app.post('/hooks', async (request, reply) => {
  const event = verify(request.body as Buffer, request.headers as Record<string, string>)
  if (!event) return reply.code(401).send()
  // The same event may come twice: the answer to the first may have been lost.
  if (!seen.has(event.id)) {
    remember(event.id)
    // Answer first: whoever takes longer than ten seconds is sent the event again.
    setImmediate(() => handle(event))
  }
  return reply.code(200).send()
})

/** Compares in constant time, and refuses what is older than five minutes. */
function verify(body: Buffer, headers: Record<string, string>): Event | undefined {
  try {
    return webhook.verify(body, headers) as Event
  } catch {
    return undefined
  }
}

function handle({ id, type, data }: Event): void {
  console.log(`${type} ${id} ${JSON.stringify(data)}`)
}

function remember(id: string): void {
  const [oldest] = seen
  if (seen.size >= SEEN_MAX && oldest !== undefined) seen.delete(oldest)
  seen.add(id)
}

const address = await app.listen({ port: Number(PORT), host: '127.0.0.1' })
console.log(`Waiting at http://localhost:${new URL(address).port}/hooks`)
