// A receiver of webhooks as a developer would write one: keeps what arrives, and answers what the test says.

import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd } from './cleanup.ts'
import { eventually } from './eventually.ts'

export type Received = {
  at: number
  headers: http.IncomingHttpHeaders
  body: string
  event: { id: string; type: string; created_at: string; data: Record<string, unknown> }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** `answer` may take its time, and may destroy the socket. */
export async function startReceiver(
  answer: (response: http.ServerResponse, received: Received) => void = (response) =>
    response.end('ok'),
) {
  const received: Received[] = []
  const server = http.createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8')
      const one: Received = {
        at: performance.now(),
        headers: request.headers,
        body,
        event: JSON.parse(body) as Received['event'],
      }
      received.push(one)
      state.answer(response, one)
    })
  })
  const state = { answer }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    port,
    received,
    of: (type: string) => received.filter(({ event }) => event.type === type),
    /** Answers in another way from now on. */
    answerWith(other: typeof answer) {
      state.answer = other
    },
    async waitFor(count: number, within_ms = 5_000) {
      await eventually(`${count} deliveries`, () => received.length >= count, within_ms)
    },
  }
}
