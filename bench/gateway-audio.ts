// What audio costs on its way through the gateway: how much later the first byte of speech comes than straight from
// the provider, taking turns, and whether memory stays flat while large files are transcribed.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Target, usageOf } from './gateway-targets.ts'

const CALLS = 400
const WARM_UP = 100
const UPLOADS = 12
const UPLOAD_BYTES = 25 * 1024 * 1024 - 4096
const SPEECH = { input: 'A sentence about nothing in particular.', voice: 'alloy' }

type Print = (line: string) => void

export async function measureAudio(
  { direct, service }: { direct: Target; service: Target },
  print: Print,
): Promise<void> {
  const times = { direct: [] as number[], service: [] as number[] }
  for (let call = 0; call < WARM_UP + CALLS; call++) {
    const straight = await firstByte(`${direct.url}/v1/text-to-speech/x/stream`, direct, {
      text: SPEECH.input,
    })
    const body = { model: 'elevenlabs/eleven_flash_v2_5', ...SPEECH }
    const through = await firstByte(`${service.url}/v1/audio/speech`, service, body)
    if (call < WARM_UP) continue
    times.direct.push(straight)
    times.service.push(through)
  }
  const added = percentile(times.service, 0.5) - percentile(times.direct, 0.5)
  const show = (list: number[]) =>
    [0.5, 0.99].map((share) => percentile(list, share).toFixed(2)).join(' / ')
  print(
    `first byte of speech, ms p50 / p99: direct ${show(times.direct)}, here ${show(times.service)}`,
  )
  print(`added at the median: ${added.toFixed(2)} ms`)
  await measureUploads(service, print)
}

async function firstByte(url: string, { headers }: Target, body: object): Promise<number> {
  const began = performance.now()
  const reply = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!reply.ok || !reply.body) throw new Error(`${url} answered ${reply.status}`)
  let took: number | undefined
  for await (const _ of reply.body) took ??= performance.now() - began
  return took ?? Number.NaN
}

/** One after the other: what one leaves behind would show in the next. */
async function measureUploads(service: Target, print: Print): Promise<void> {
  const file = new Blob([wav(UPLOAD_BYTES)], { type: 'audio/wav' })
  const samples: number[] = []
  let most = 0
  for (let upload = 0; upload < UPLOADS; upload++) {
    const form = new FormData()
    form.set('file', file, 'meeting.wav')
    form.set('model', 'elevenlabs/scribe_v1')
    const url = `${service.url}/v1/audio/transcriptions`
    const sent = fetch(url, { method: 'POST', headers: service.headers, body: form })
    const watching = watch(service, sent)
    const reply = await sent
    if (!reply.ok) throw new Error(`an upload was answered ${reply.status}: ${await reply.text()}`)
    await reply.text()
    most = Math.max(most, await watching)
    samples.push((await usageOf(service)).rss_bytes)
  }
  const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`
  const [first = 0] = samples.slice(2)
  print(`${UPLOADS} uploads of 25 MB: resident after each ${samples.map(mib).join(', ')}`)
  print(
    `growth from the third to the last: ${mib((samples.at(-1) ?? 0) - first)}; at most ${mib(most)}`,
  )
}

async function watch(service: Target, over: Promise<unknown>): Promise<number> {
  let most = 0
  for (let state = 'running'; state === 'running'; ) {
    most = Math.max(most, (await usageOf(service)).rss_bytes)
    state = await Promise.race([over.then(() => 'over'), sleep(20, 'running')])
  }
  return most
}

function percentile(list: readonly number[], share: number): number {
  const sorted = list.toSorted((first, second) => first - second)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** Silence: 16 bit, one channel, 16 kHz. */
function wav(bytes: number): Uint8Array<ArrayBuffer> {
  const file = Buffer.alloc(bytes)
  file.write('RIFF', 0)
  file.writeUInt32LE(bytes - 8, 4)
  file.write('WAVEfmt ', 8)
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(16_000, 24)
  file.writeUInt32LE(32_000, 28)
  file.writeUInt16LE(2, 32)
  file.writeUInt16LE(16, 34)
  file.write('data', 36)
  file.writeUInt32LE(bytes - 44, 40)
  return new Uint8Array(file)
}
