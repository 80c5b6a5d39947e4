// A receiver of webhooks as a developer would write one: keeps the events that arrive, and answers what the test says.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { eventually } from './eventually.ts'
import { startReceiver } from './receiver.ts'

export type ReceivedEvent = {
  at: number
  headers: IncomingHttpHeaders
  body: string
  event: { id: string; type: string; created_at: string; data: Record<string, unknown> }
}

type Answer = (response: ServerResponse, received: ReceivedEvent) => void

export type EventReceiver = Awaited<ReturnType<typeof startEventReceiver>>

/** `answer` may take its time, and may destroy the socket. */
export async function startEventReceiver(answer: Answer = (response) => response.end('ok')) {
  const events: ReceivedEvent[] = []
  const state = { answer }
  const { url, received } = await startReceiver((_request, response) => {
    const latest = received.at(-1)
    const body = latest?.body.toString('utf8') ?? ''
    const one: ReceivedEvent = {
      at: performance.now(),
      headers: latest?.headers ?? {},
      body,
      event: JSON.parse(body) as ReceivedEvent['event'],
    }
    events.push(one)
    state.answer(response, one)
  })
  return {
    url,
    received: events,
    of: (type: string) => events.filter(({ event }) => event.type === type),
    /** Answers in another way from now on. */
    answerWith(other: Answer) {
      state.answer = other
    },
    async waitFor(count: number, within_ms = 5_000) {
      await eventually(`${count} deliveries`, () => events.length >= count, within_ms)
    },
  }
}
