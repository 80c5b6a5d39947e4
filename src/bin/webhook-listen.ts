// The stream of `svc webhooks listen`: reads deliveries from the service, sends each to the local url with the exact
// bytes and headers, and prints a line about it. A stream that breaks is opened again, with the same secret.

import { setTimeout as wait } from 'node:timers/promises'
import { styleText } from 'node:util'
import { CallSignal, HttpFailure, type HttpReply } from '../platform/http-call.ts'
import { createHttpClient, type HttpClient } from '../platform/http-client.ts'
import { readEvents, type ServerSentEvent } from '../platform/sse.ts'
import { describeFailure, describeStatus, type Verdict } from '../webhooks/attempt-outcome.ts'

/** Three comments of the service missed: the connection is dead. */
const SILENCE_MS = 45_000
const ANSWER_MS = 15_000
const STREAM_MS = 86_400_000 + 60_000
const FORWARD_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
const BACK_OFF_MS = { first: 1_000, max: 30_000 }
/** About ten minutes without a stream. */
const ATTEMPTS_MAX = 24

export type Wanted = {
  api: string
  session: string
  client_id: string
  url: string
  events?: string | undefined
  low_balance_threshold?: string | undefined
  secret?: string | undefined
}

export type Terminal = { print(text: string): void; colours: boolean; signal: AbortSignal }

/** What the service refuses for good: asking again would not help. */
export class Refused extends Error {}

type Listening = { client_id: string; events: string[]; secret: string }
type Delivery = {
  event_id: string
  event_type: string
  headers: Record<string, string>
  body: string
}
type Counts = { delivered: number; failed: number }

/** Until the signal; throws if there is no first stream, or no more. */
export async function listen(wanted: Wanted, terminal: Terminal): Promise<Counts> {
  const client = createHttpClient()
  const run = { client, terminal, wanted: { ...wanted }, counts: { delivered: 0, failed: 0 } }
  let failures = 0
  let has_listened = false
  while (!terminal.signal.aborted) {
    const onListening = () => {
      failures = 0
      has_listened = true
    }
    const why = await readStream(run, onListening)
    if (terminal.signal.aborted) break
    failures += 1
    if (!has_listened) throw new Error(why)
    if (failures > ATTEMPTS_MAX) throw new Error(`${why}; given up after ${ATTEMPTS_MAX} attempts`)
    const pause_ms = Math.min(BACK_OFF_MS.first * 2 ** (failures - 1), BACK_OFF_MS.max)
    terminal.print(`${why}; connecting again in ${pause_ms / 1000} s`)
    await wait(pause_ms, undefined, { signal: terminal.signal }).catch(() => {})
  }
  await client.close()
  return run.counts
}

type Run = { client: HttpClient; terminal: Terminal; wanted: Wanted; counts: Counts }

/** Answers why it ended. */
async function readStream(run: Run, onListening: () => void): Promise<string> {
  const { signal } = run.terminal
  const ending = new CallSignal()
  const abort = () => ending.abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    const reply = await openStream(run, ending)
    for await (const events of readEvents(reply.body)) {
      const why = await takeEvents(run, events, onListening)
      if (why !== undefined) return why
    }
    return 'the stream ended'
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error
    return describeLoss(error, run.wanted.api)
  } finally {
    signal.removeEventListener('abort', abort)
    ending.abort()
  }
}

/** Answers why it ends, if it does. One after the other: what is printed stands in the order of the events. */
async function takeEvents(
  run: Run,
  events: readonly ServerSentEvent[],
  onListening: () => void,
): Promise<string | undefined> {
  for (const event of events) {
    if (run.terminal.signal.aborted) return 'stopped'
    if (event.name === 'end') return describeEnd(event)
    await takeEvent(run, event, onListening)
  }
  return undefined
}

async function openStream(run: Run, signal: CallSignal): Promise<HttpReply> {
  const { api, session, client_id, events, low_balance_threshold, secret } = run.wanted
  const query = new URLSearchParams({
    client_id,
    ...(events !== undefined && { events }),
    ...(low_balance_threshold !== undefined && { low_balance_threshold }),
  })
  const reply = await run.client.send({
    method: 'GET',
    url: `${api}/v1/webhooks/listen?${query.toString()}`,
    headers: {
      accept: 'text/event-stream',
      authorization: `Bearer ${session}`,
      ...(secret !== undefined && { 'x-svc-listener-secret': secret }),
    },
    limits: { headers_ms: ANSWER_MS, idle_ms: SILENCE_MS, total_ms: STREAM_MS },
    signal,
  })
  if (reply.status === 200) return reply
  const refusal = describeRefusal(reply.status, await reply.text(ANSWER_BYTES_MAX))
  const may_pass = reply.status >= 500 || reply.status === 429
  throw may_pass ? new HttpFailure('unreachable', refusal) : new Refused(refusal)
}

async function takeEvent(run: Run, event: ServerSentEvent, onListening: () => void): Promise<void> {
  if (event.name === 'listening') {
    const { client_id, events, secret } = JSON.parse(event.data) as Listening
    const is_new = secret !== run.wanted.secret
    run.wanted.secret = secret
    onListening()
    run.terminal.print(`listening to ${events.join(', ')} of ${client_id} → ${run.wanted.url}`)
    if (is_new) run.terminal.print(`signing secret: ${secret}`)
  } else if (event.name === 'delivery') {
    const delivery = JSON.parse(event.data) as Delivery
    const began_at = performance.now()
    const verdict = await forward(run, delivery)
    const duration_ms = Math.round(performance.now() - began_at)
    run.counts[verdict.outcome === 'delivered' ? 'delivered' : 'failed'] += 1
    run.terminal.print(formatLine(delivery, { ...verdict, duration_ms }, run.terminal.colours))
  }
}

type Forwarded = Verdict & { response_status?: number }

/** To wherever the developer says, this machine on purpose: the guard of real deliveries is not in the way. */
async function forward({ client, wanted }: Run, delivery: Delivery): Promise<Forwarded> {
  const { href, host, hostname, port, protocol } = new URL(wanted.url)
  const place = { host, hostname, port: port || (protocol === 'https:' ? '443' : '80') }
  try {
    const reply = await client.send({
      url: href,
      headers: delivery.headers,
      body: delivery.body,
      limits: { headers_ms: FORWARD_MS, idle_ms: FORWARD_MS, total_ms: FORWARD_MS },
      signal: new CallSignal(),
    })
    reply.release()
    return describeStatus(place, reply.status, reply.headers['location'])
  } catch (error) {
    return describeFailure(error, place, { connect_ms: FORWARD_MS, total_ms: FORWARD_MS })
  }
}

/** `09:30:00  usage.completed  evt_… → 200  12 ms`, and the reason of a failure behind it. */
function formatLine(
  { event_type, event_id }: Delivery,
  { outcome, reason, response_status, duration_ms }: Forwarded & { duration_ms: number },
  colours: boolean,
): string {
  const paint = (style: 'green' | 'red' | 'dim', text: string) =>
    colours ? styleText(style, text, { validateStream: false }) : text
  const time = new Date().toTimeString().slice(0, 8)
  const is_delivered = outcome === 'delivered'
  const result = paint(is_delivered ? 'green' : 'red', String(response_status ?? outcome))
  const why = is_delivered ? '' : `  ${reason}`
  const end = `${result}  ${duration_ms} ms${why}`
  return `${paint('dim', time)}  ${event_type.padEnd(17)}  ${paint('dim', event_id)} → ${end}`
}

const ENDS: Record<string, string> = {
  removed: 'the app or the listener was deleted',
  time_limit: 'the stream has been open for a day',
  stopping: 'the service stops',
  unavailable: 'the service has a problem',
}

function describeEnd(event: ServerSentEvent): string {
  const { reason } = JSON.parse(event.data) as { reason: string }
  if (reason === 'session_ended') throw new Refused('the session has ended: log in again')
  return ENDS[reason] ?? 'the stream ended'
}

export function describeRefusal(status: number, text: string): string {
  try {
    const { error } = JSON.parse(text) as { error: { message: string; hint?: string } }
    return [error.message, error.hint].filter(Boolean).join(' ')
  } catch {
    return `the service answered ${status}`
  }
}

export function describeLoss({ kind, message, cause }: HttpFailure, api: string): string {
  if (kind === 'cut') return 'the connection was lost'
  if (cause === undefined && kind === 'unreachable') return message
  if (kind === 'timeout') return `${api} does not answer`
  return `${api} cannot be reached: is the service running?`
}
