// The callers of bench/gateway.ts: as many as asked, each with one call at a time, or calls at a fixed rate.

import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type Target, usageOf } from './gateway-targets.ts'

export const CHUNKS = 100

export type Load = {
  stream: boolean
  /** Between two chunks of the upstream. */
  pace_ms: number
  callers: number
}

export type Measure = {
  requests: number
  seconds: number
  cpu_us: number
  postgres_cpu_us: number
  rss_bytes: number
  /** Of all cores, by whomever: 1 is all of the machine. */
  machine_busy: number
  whole_ms: number[]
  first_ms: number[]
}

/** Before each turn: connections that were closed while others had theirs are opened again, caches filled. */
const LEAD_IN_SECONDS = 0.5

const agent = new Agent({ connections: 2_000, pipelining: 1 })

/** Calls for `seconds`, and the usage of the server over that time. */
export async function run(target: Target, load: Load, seconds: number): Promise<Measure> {
  // A stream that is paced takes longer than that by itself.
  if (load.pace_ms === 0) {
    await measure(target, (result) => callFor(target, load, LEAD_IN_SECONDS, result))
  }
  return await measure(target, (result) => callFor(target, load, seconds, result))
}

async function callFor(
  target: Target,
  load: Load,
  seconds: number,
  result: Measure,
): Promise<void> {
  const ends_at = performance.now() + seconds * 1000
  const body = bodyFor(target, load)
  const caller = async () => {
    while (performance.now() < ends_at) await call(target, body, result)
  }
  await Promise.all(Array.from({ length: load.callers }, caller))
}

/** Calls that begin at their time, whether or not those before have ended. */
export async function runAtRate(
  target: Target,
  load: Load & { per_second: number },
  seconds: number,
): Promise<Measure> {
  await measure(target, (result) => callAtRate(target, load, LEAD_IN_SECONDS, result))
  return await measure(target, (result) => callAtRate(target, load, seconds, result))
}

async function callAtRate(
  target: Target,
  load: Load & { per_second: number },
  seconds: number,
  result: Measure,
): Promise<void> {
  const body = bodyFor(target, load)
  const began_at = performance.now()
  const calls: Promise<void>[] = []
  for (let due = 0; due < seconds * load.per_second; ) {
    const now_due = Math.floor(((performance.now() - began_at) / 1000) * load.per_second)
    for (; due < now_due; due++) calls.push(call(target, body, result))
    await sleep(1)
  }
  await Promise.all(calls)
}

export function bodyOf(load: Pick<Load, 'stream' | 'pace_ms'>, chunks = CHUNKS): string {
  return JSON.stringify({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a benchmark.' },
      { role: 'user', content: `Say something. chunks=${chunks} pace_ms=${load.pace_ms}` },
    ],
    max_tokens: 200,
    // OpenAI sends the usage only if asked, and billing asks.
    ...(load.stream && { stream: true, stream_options: { include_usage: true } }),
  })
}

/** The same conversation, in the format of the target. */
export function bodyFor({ format }: Target, load: Load): string {
  const body = bodyOf(load)
  if (format !== 'responses') return body
  const { model, messages: input, max_tokens: max_output_tokens } = JSON.parse(body)
  return JSON.stringify({ model, input, max_output_tokens, stream: load.stream, store: false })
}

/** The text of one answer, to see that a target answers as it should. */
export async function ask(target: Target, body: string): Promise<string> {
  const { statusCode, body: answer } = await post(target, body)
  const text = await answer.text()
  if (statusCode !== 200) throw new Error(`${target.name} answered ${statusCode}: ${text}`)
  return text
}

export async function call(target: Target, body: string, result: Measure): Promise<void> {
  const began_at = performance.now()
  const { statusCode, body: answer } = await post(target, body)
  let first_ms = 0
  let size = 0
  for await (const piece of answer as AsyncIterable<Uint8Array>) {
    first_ms ||= performance.now() - began_at
    size += piece.length
  }
  if (statusCode !== 200 || size === 0) throw new Error(`${target.name} answered ${statusCode}`)
  result.requests += 1
  result.first_ms.push(first_ms)
  result.whole_ms.push(performance.now() - began_at)
}

export async function measure(
  target: Target,
  work: (result: Measure) => Promise<void>,
): Promise<Measure> {
  const result: Measure = {
    requests: 0,
    seconds: 0,
    cpu_us: 0,
    postgres_cpu_us: 0,
    rss_bytes: 0,
    machine_busy: 0,
    whole_ms: [],
    first_ms: [],
  }
  const before = await usageOf(target)
  const [idle_before, began_at] = [idleSeconds(), performance.now()]
  await work(result)
  result.seconds = (performance.now() - began_at) / 1000
  result.machine_busy = 1 - (idleSeconds() - idle_before) / (result.seconds * cpus().length)
  const after = await usageOf(target)
  result.cpu_us = after.cpu_us - before.cpu_us
  result.postgres_cpu_us = after.postgres_cpu_us - before.postgres_cpu_us
  result.rss_bytes = after.rss_bytes
  return result
}

function idleSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle / 1000, 0)
}

async function post(target: Target, body: string) {
  const path = target.format === 'responses' ? 'responses' : 'chat/completions'
  return await request(`${target.url}/v1/${path}`, {
    dispatcher: agent,
    method: 'POST',
    headers: { ...target.headers, 'content-type': 'application/json' },
    body,
  })
}
