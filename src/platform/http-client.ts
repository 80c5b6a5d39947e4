// The one way out: to providers, and through a guarded connector to addresses that others chose. Nothing is retried,
// redirects are not followed, and there are never more calls at once than connections.

import { Agent, type buildConnector } from 'undici'
import {
  DispatchedCall,
  type HttpCall,
  HttpFailure,
  type HttpFailureKind,
  type HttpReply,
} from './http-call.ts'

const CONNECT_MS = 10_000
const KEEP_ALIVE_MS = 30_000
const MAX_OPEN = 2_000

export type HttpClient = {
  send(call: HttpCall): Promise<HttpReply>
  close(): Promise<void>
}

export type HttpClientOptions = {
  max_open?: number
  /** How long an idle connection is kept, unless the other side says less. */
  keep_alive_ms?: number
  /** Instead of connecting to wherever the address leads (platform/public-address.ts). */
  connect?: buildConnector.connector
}

export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const max_open = options.max_open ?? MAX_OPEN
  const agent = new Agent({
    // As many connections as calls: a call is never parked where no timer sees it.
    connections: max_open,
    pipelining: 1,
    // One stalled HTTP/2 connection would hold up every answer on it.
    allowH2: false,
    keepAliveTimeout: options.keep_alive_ms ?? KEEP_ALIVE_MS,
    connect: options.connect ?? { timeout: CONNECT_MS },
  })
  let open = 0
  const onOver = () => {
    open -= 1
  }
  return {
    send(call) {
      if (call.signal.aborted) return refuse('aborted', 'the call was given up')
      if (open >= max_open) return refuse('busy', `${open} calls are open already`)
      open += 1
      return new DispatchedCall(call, onOver).send(agent)
    },
    close: () => agent.destroy(),
  }
}

function refuse(kind: HttpFailureKind, message: string): Promise<never> {
  return Promise.reject(new HttpFailure(kind, message))
}
