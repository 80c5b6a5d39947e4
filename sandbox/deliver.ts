// Sends a reply, with the accidents that the test prompts ask for: slowness, silence, broken
// connections, broken framing. Every wait ends when the client leaves, and after ten minutes at most.

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Directives, directiveNumber } from './directives.ts'
import type { Frame, Layout, Outcome, Reply } from './reply.ts'

const MAX_WAIT_MS = 600_000
const MAX_PACE_MS = 60_000
const BIG_EVENT_BYTES = 1_048_576
const MAX_EVENT_BYTES = 16 * 1_048_576
const SPLIT_BYTES = 5
const GARBAGE_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>upstream</body></html>'

export type Line = { response: ServerResponse; signal: AbortSignal }
export type Ending = 'answered' | 'cut' | 'client_left'

export async function deliver(outcome: Outcome, line: Line): Promise<Ending> {
  const { directives, reply } = outcome
  if (directives.timeout !== undefined) return await goSilent(line)
  await wait(directiveNumber(directives.slow, MAX_WAIT_MS) ?? 0, line)
  if (line.signal.aborted) return 'client_left'
  if (directives.hangup !== undefined) return hangUp(line)
  openReply(outcome, line.response)
  if (directives.empty_body !== undefined) return await endReply(line)
  switch (reply.type) {
    case 'json':
      return await sendBody(reply.body, directives, line)
    case 'events':
      return await sendFrames(reply, directives, line)
    case 'bytes':
      return await sendChunks(reply.chunks, directives, line)
  }
}

function openReply({ reply, directives }: Outcome, response: ServerResponse): void {
  const status = reply.type === 'events' ? 200 : reply.status
  const types = { json: 'application/json', events: 'text/event-stream; charset=utf-8' }
  const content_type = reply.type === 'bytes' ? {} : { 'content-type': types[reply.type] }
  const html = reply.type === 'json' && directives.garbage !== undefined
  response.writeHead(status, {
    ...content_type,
    ...reply.headers,
    ...(html && { 'content-type': 'text/html; charset=utf-8' }),
  })
  // Otherwise the status would wait for the first byte of a body that may never come.
  response.flushHeaders()
}

async function sendBody(body: unknown, directives: Directives, line: Line): Promise<Ending> {
  const text = directives.garbage === undefined ? JSON.stringify(body) : GARBAGE_PAGE
  const accident = findAccident(directives, [])
  if (accident === undefined || accident.action === 'error') {
    await write(text, directives, line)
    return await endReply(line)
  }
  await write(text.slice(0, Math.floor(text.length / 2)), directives, line)
  return await endBy(accident.action, line)
}

type Events = Extract<Reply, { type: 'events' }>

async function sendFrames(reply: Events, directives: Directives, line: Line): Promise<Ending> {
  const accident = findAccident(directives, reply.frames)
  const frames = damage(reply.frames, directives).slice(0, accident?.after)
  if (accident?.action === 'error') frames.push(...reply.errors(frames.length))
  const complete = accident?.action !== 'cut' && accident?.action !== 'stall'
  const texts = layOut({ frames, layout: chooseLayout(reply, directives), complete }, directives)
  const pace_ms = directiveNumber(directives.pace, MAX_PACE_MS) ?? 0
  for (const [index, text] of texts.entries()) {
    if (index > 0) await wait(pace_ms, line)
    await write(text, directives, line)
    if (line.signal.aborted) return 'client_left'
  }
  const action = accident?.action ?? 'end'
  return await endBy(action === 'error' ? 'end' : action, line)
}

function chooseLayout(reply: Events, directives: Directives): Layout {
  return reply.layout === 'sse' && directives.crlf !== undefined ? 'sse_crlf' : reply.layout
}

async function sendChunks(
  chunks: Iterable<Buffer>,
  directives: Directives,
  line: Line,
): Promise<Ending> {
  // The number of chunks is not known before they are made, so half way is the second of them.
  const placeholders = Array.from({ length: 4 }, (): Frame => ({ kind: 'chunk', data: '' }))
  const accident = findAccident(directives, placeholders)
  const pace_ms = directiveNumber(directives.pace, MAX_PACE_MS) ?? 0
  let sent = 0
  for (const chunk of chunks) {
    if (accident !== undefined && sent >= accident.after) break
    if (sent > 0) await wait(pace_ms, line)
    await write(chunk, directives, line)
    if (line.signal.aborted) return 'client_left'
    sent += 1
  }
  if (accident === undefined) return await endReply(line)
  // Sound has no way to say that something went wrong, so an error there is a cut.
  return await endBy(accident.action === 'error' ? 'cut' : accident.action, line)
}

type Action = 'cut' | 'end' | 'stall' | 'error'
type Accident = { action: Action; after: number }

/** What happens to the stream, and after how many of its frames. */
function findAccident(directives: Directives, frames: readonly Frame[]): Accident | undefined {
  const wanted: readonly (readonly [Action, string | undefined])[] = [
    ['cut', directives.cut_after ?? directives.cut],
    ['end', directives.end_after],
    ['stall', directives.stall],
    ['error', directives.error_mid_stream ?? directives.failed_mid_stream],
  ]
  const found = wanted.find(([, place]) => place !== undefined)
  if (found === undefined) return undefined
  const [action, place = ''] = found
  return { action, after: findPlace(place, frames) }
}

/** Half way when nothing is said; a number of frames; or the first frame of a kind. */
function findPlace(place: string, frames: readonly Frame[]): number {
  if (place === '') return Math.floor(frames.length / 2)
  if (/^\d+$/.test(place)) return Number(place)
  const at = frames.findIndex((frame) => frame.kind === place)
  return at === -1 ? frames.length : at + 1
}

/** Spoils or swells one frame in the middle. The padding is white space, which JSON allows. */
function damage(frames: readonly Frame[], directives: Directives): Frame[] {
  const middle = Math.floor(frames.length / 2)
  const big_bytes = directiveNumber(directives.big_event, MAX_EVENT_BYTES) ?? BIG_EVENT_BYTES
  return frames.map((frame, index): Frame => {
    if (index !== middle) return frame
    if (directives.garbage !== undefined) return { ...frame, data: '{"broken": tru' }
    if (directives.big_event === undefined || !frame.data.startsWith('{')) return frame
    return { ...frame, data: `{${' '.repeat(big_bytes)}${frame.data.slice(1)}` }
  })
}

type Script = { frames: readonly Frame[]; layout: Layout; complete: boolean }

function layOut({ frames, layout, complete }: Script, directives: Directives): string[] {
  if (layout === 'json_array') {
    const last = complete ? frames.length - 1 : -1
    return frames.map(({ data }, at) => {
      return `${at === 0 ? '[' : ',\r\n'}${data}${at === last ? ']' : ''}`
    })
  }
  const end = layout === 'sse_crlf' ? '\r\n' : '\n'
  const comment = directives.comments === undefined ? '' : `: keep-alive${end}${end}`
  return frames.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}${end}`
    return `${comment}${name}data: ${data}${end}${end}`
  })
}

async function write(content: string | Buffer, directives: Directives, line: Line): Promise<void> {
  const bytes = Buffer.from(content)
  const step_bytes = directives.split === undefined ? Math.max(bytes.length, 1) : SPLIT_BYTES
  for (let at = 0; at < bytes.length && !line.signal.aborted; at += step_bytes) {
    await writeBytes(bytes.subarray(at, at + step_bytes), line)
  }
}

/** Waits for the bytes to leave, so that a slow reader slows the sender and not its memory. */
function writeBytes(bytes: Buffer, { response, signal }: Line): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const settle = () => resolve(undefined)
  signal.addEventListener('abort', settle, { once: true })
  response.write(bytes, settle)
  return promise.finally(() => signal.removeEventListener('abort', settle))
}

async function endBy(action: Exclude<Action, 'error'>, line: Line): Promise<Ending> {
  if (action === 'stall') return await goSilent(line)
  return action === 'end' ? await endReply(line) : hangUp(line)
}

async function endReply({ response, signal }: Line): Promise<Ending> {
  if (signal.aborted) return 'client_left'
  const { promise, resolve } = Promise.withResolvers<Ending>()
  signal.addEventListener('abort', () => resolve('client_left'), { once: true })
  response.end(() => resolve('answered'))
  return await promise
}

async function goSilent(line: Line): Promise<Ending> {
  await wait(MAX_WAIT_MS, line)
  return line.signal.aborted ? 'client_left' : hangUp(line)
}

function hangUp({ response }: Line): Ending {
  response.destroy()
  return 'cut'
}

async function wait(duration_ms: number, { signal }: Line): Promise<void> {
  if (duration_ms <= 0 || signal.aborted) return
  // The only way this fails is the client leaving, which the caller sees by the signal.
  await sleep(duration_ms, undefined, { signal }).catch(() => undefined)
}
