// A receiver of webhooks on this machine that answers what a test says, and remembers what it got.

import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { KEY } from './certificates.ts'
import { atEnd } from './cleanup.ts'

export type Received = { headers: IncomingHttpHeaders; body: Buffer; path: string | undefined }

/** With a certificate it speaks TLS. */
export async function startReceiver(answer: RequestListener, options: { cert?: string } = {}) {
  const received: Received[] = []
  const seen = { connections: 0, cut: 0 }
  const listener: RequestListener = (request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { headers, url } = request
      received.push({ headers, body: Buffer.concat(pieces), path: url })
      answer(request, response)
    })
    response.on('close', () => {
      if (!response.writableFinished) seen.cut += 1
    })
  }
  const server =
    options.cert === undefined
      ? http.createServer({ maxHeaderSize: 1_000_000 }, listener)
      : https.createServer({ cert: options.cert, key: KEY }, listener)
  server.on('connection', () => {
    seen.connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  atEnd(async () => close())
  const { port } = server.address() as AddressInfo
  const scheme = options.cert === undefined ? 'http' : 'https'
  return { url: `${scheme}://localhost:${port}/hook`, port, received, seen, close }
}
