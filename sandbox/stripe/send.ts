// Sends an answer, or spoils it on the way as the fault script asks.

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from './fault-script.ts'

const MAX_SILENCE_MS = 600_000
const GARBAGE = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

export type Answer = { status: number; headers: Record<string, string>; body: string }
export type Line = { response: ServerResponse; signal: AbortSignal }

export async function send(answer: Answer, line: Line, fault?: Fault): Promise<void> {
  const { response, signal } = line
  if (fault?.fault === 'slow') await wait(fault.ms, signal)
  if (fault?.fault === 'timeout') {
    await wait(MAX_SILENCE_MS, signal)
    response.destroy()
    return
  }
  if (signal.aborted) return
  if (fault?.fault === 'reset') {
    response.socket?.resetAndDestroy()
    return
  }
  if (fault?.fault === 'garbage') {
    response.writeHead(fault.status, { 'content-type': 'text/html' }).end(GARBAGE)
    return
  }
  const { status, headers, body } = answer
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  if (fault?.fault !== 'cut') {
    response.end(body)
    return
  }
  // The length was announced, so the client knows that the rest is missing.
  response.write(body.slice(0, Math.floor(body.length / 2)), () => response.destroy())
}

/** With a signal, ends early when the client leaves; without, keeps no process alive. */
export async function wait(duration_ms: number, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? { ref: false } : { signal }
  await sleep(duration_ms, undefined, options).catch(() => undefined)
}
