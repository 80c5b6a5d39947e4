// The provider of bench/gateway.ts, in a process of its own: always the same chat completion, at once, whole or
// as a stream of chunks, each in a packet of its own. A prompt of `chunks=500 pace_ms=10` asks for 500 chunks,
// 10 ms apart.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

const CHUNKS = 100
const HEAD = '"id":"chatcmpl-bench","created":1763200000,"model":"gpt-4o-mini-2024-07-18"'
const TAIL = '"service_tier":"default","system_fingerprint":"fp_bench"'
const USAGE =
  '{"prompt_tokens":20,"completion_tokens":100,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}'
const TEXT = 'A sentence about nothing in particular, as models like to write. '.repeat(8)
const WHOLE = `{${HEAD},"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"${TEXT}","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":${USAGE},${TAIL}}`

const SOUND = Buffer.alloc(4_096, 1)

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy())
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.startsWith('/v1/speech-to-text')) {
    await hear(request, response)
    return
  }
  if (request.url?.startsWith('/v1/text-to-speech')) {
    await speak(request, response)
    return
  }
  const body = await readBody(request)
  response.setHeader('x-request-id', 'req_bench')
  if (!body.includes('"stream":true')) {
    response.setHeader('content-type', 'application/json')
    response.end(WHOLE)
    return
  }
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  const chunks = readNumber(body, 'chunks') ?? CHUNKS
  const pace_ms = readNumber(body, 'pace_ms') ?? 0
  // Two of them are not text: the reason for the end, and the usage.
  for (let i = 0; i < chunks - 2 && !response.destroyed; i++) {
    await write(response, chunkOf(`{"content":" word${i}"}`, 'null'))
    await (pace_ms > 0 ? sleep(pace_ms) : turn())
  }
  await write(response, chunkOf('{}', '"stop"'))
  response.end(`data: {${chunkHead()},"choices":[],"usage":${USAGE}}\n\ndata: [DONE]\n\n`)
}

async function hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
  for await (const _ of request);
  response.setHeader('content-type', 'application/json')
  response.end('{"text":"Nothing.","language_code":"eng","words":[],"audio_duration_secs":819}')
}

async function speak(request: IncomingMessage, response: ServerResponse): Promise<void> {
  await readBody(request)
  response.setHeader('content-type', 'audio/mpeg')
  for (let piece = 0; piece < 8; piece++) {
    response.write(SOUND)
    await turn()
  }
  response.end()
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.write(text)) return
  await Promise.race([once(response, 'drain'), once(response, 'close')])
}

function chunkOf(delta: string, finish_reason: string): string {
  return `data: {${chunkHead()},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish_reason}}],"usage":null}\n\n`
}

function chunkHead(): string {
  return `${HEAD},"object":"chat.completion.chunk",${TAIL}`
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  request.setEncoding('utf8')
  for await (const piece of request) body += piece
  return body
}

function readNumber(body: string, name: string): number | undefined {
  const found = new RegExp(`${name}=(\\d+)`).exec(body)?.[1]
  return found === undefined ? undefined : Number(found)
}
