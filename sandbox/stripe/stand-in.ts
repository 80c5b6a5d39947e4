// The Stripe stand-in as the listener sees it: which addresses are its own, and who answers them.

import type { IncomingMessage } from 'node:http'
import { answerApi, type Incoming } from './api.ts'
import { answerControl, CONTROL_PREFIX } from './control.ts'
import { answerPage, PAGE_PREFIX } from './pages.ts'
import type { Line } from './send.ts'
import { createState, type StripeOptions } from './state.ts'

const MAX_BODY_BYTES = 8 * 1_048_576

export type StripeStandIn = {
  owns(path: string): boolean
  handle(request: IncomingMessage, url: URL, line: Line): Promise<void>
  close(): void
}

export function createStripe(options: StripeOptions = {}): StripeStandIn {
  const state = createState(options)
  const parts = [
    { prefix: '/v1/', answer: answerApi },
    { prefix: `${PAGE_PREFIX}/`, answer: answerPage },
    { prefix: CONTROL_PREFIX, answer: answerControl },
  ]
  const findPart = (path: string) => parts.find(({ prefix }) => path.startsWith(prefix))
  return {
    owns: (path) => findPart(path) !== undefined,
    async handle(request, url, line) {
      const body = await readBody(request)
      const part = findPart(url.pathname)
      if (body === undefined || part === undefined) {
        line.response.destroy()
        return
      }
      await part.answer(state, describe(request, url, body), line)
    },
    close() {
      state.world.schedule.stop()
      state.sender.stop()
    },
  }
}

function describe(request: IncomingMessage, url: URL, body: string): Incoming {
  return {
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.search.slice(1),
    headers: request.headers,
    body,
    // Pages are reached the way the product reaches the API.
    origin: `http://${request.headers.host ?? 'localhost'}`,
  }
}

/** Undefined when the client left in the middle, or sends more than anybody means to. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size_bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk)
      size_bytes += bytes.length
      if (size_bytes > MAX_BODY_BYTES) return undefined
      chunks.push(bytes)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}
