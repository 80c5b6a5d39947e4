// Whether this gateway's memory stays flat: over many requests, over many streams that write slowly, and over
// many streams whose readers have stopped reading.

import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf, call, type Measure, measure } from './gateway-load.ts'
import { type Target, usageOf } from './gateway-targets.ts'

const CALLERS = 32
const STREAMS = 500
const SAMPLES = 10
/** Before these samples, caches and the heap are still filling. */
const SETTLED_SAMPLES = 2
const STREAM_PACE_MS = 200
/** About 200 bytes each: together far more than a process could hold unread. */
const STOPPED_CHUNKS = 20_000
const STOPPED_SECONDS = 20

type Print = (line: string) => void

export async function checkMemory(target: Target, requests: number, print: Print): Promise<void> {
  report(print, `${requests} requests`, await overRequests(target, requests))
  report(print, `${STREAMS} slow streams`, await overSlowStreams(target))
  report(print, `${STREAMS} readers that stopped`, await overStoppedReaders(target))
}

async function overRequests(target: Target, requests: number): Promise<number[]> {
  const body = bodyOf({ stream: false, pace_ms: 0 })
  const samples: number[] = []
  for (let part = 0; part < SAMPLES; part++) {
    let left = requests / SAMPLES
    const { rss_bytes } = await measure(target, async (result) => {
      const caller = async () => {
        while (left-- > 0) await call(target, body, result)
      }
      await Promise.all(Array.from({ length: CALLERS }, caller))
      result.whole_ms = []
    })
    samples.push(rss_bytes)
  }
  return samples
}

async function overSlowStreams(target: Target): Promise<number[]> {
  const body = bodyOf({ stream: true, pace_ms: STREAM_PACE_MS })
  const samples: number[] = []
  await measure(target, async (result: Measure) => {
    const streams = Promise.all(Array.from({ length: STREAMS }, () => call(target, body, result)))
    for (let sample = 0; sample < SAMPLES; sample++) {
      await sleep((STREAM_PACE_MS * 100) / SAMPLES)
      samples.push((await usageOf(target)).rss_bytes)
    }
    await streams
  })
  return samples
}

async function overStoppedReaders(target: Target): Promise<number[]> {
  const body = bodyOf({ stream: true, pace_ms: 0 }, STOPPED_CHUNKS)
  const sockets = Array.from({ length: STREAMS }, () => openStopped(target, body))
  const samples: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    await sleep((STOPPED_SECONDS * 1000) / SAMPLES)
    samples.push((await usageOf(target)).rss_bytes)
  }
  for (const socket of sockets) socket.destroy()
  return samples
}

/** A client that asks and never reads the answer. */
function openStopped(target: Target, body: string): Socket {
  const { hostname, port } = new URL(target.url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.pause()
  socket.on('error', () => {})
  const headers = { ...target.headers, 'content-type': 'application/json', host: hostname }
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n${body}`)
  return socket
}

/** The collector makes a saw-tooth of it: halves are compared, not single samples. */
function report(print: Print, title: string, samples: number[]): void {
  const half = Math.ceil((SAMPLES - SETTLED_SAMPLES) / 2)
  const settled = samples.slice(SETTLED_SAMPLES)
  const growth = median(settled.slice(-half)) / median(settled.slice(0, half)) - 1
  const listed = samples.map((bytes) => (bytes / 1e6).toFixed(0)).join(' ')
  const since = `the second half against the first, from sample ${SETTLED_SAMPLES + 1} on`
  print(`${title.padEnd(28)} RSS MB ${listed}; ${(growth * 100).toFixed(1)} %: ${since}`)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
