// A wire that a test can cut or freeze, between the product and a real server.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atEnd } from './cleanup.ts'

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>

/** Stands in front of the server that `target_url` names; `url` is the same address through the proxy. */
export async function startTcpProxy(
  target_url: string,
  options: { rewrite?: (sent: Buffer) => Buffer } = {},
) {
  const target = new URL(target_url)
  const rewrite = options.rewrite ?? ((sent: Buffer) => sent)
  const pairs = new Set<readonly [Socket, Socket]>()
  let is_cut = false
  let is_frozen = false
  const server = createServer((near) => {
    near.on('error', () => {})
    if (is_cut) {
      near.destroy()
      return
    }
    const far = connect(Number(target.port), target.hostname)
    far.on('error', () => {})
    const pair = [near, far] as const
    pairs.add(pair)
    near.on('data', (chunk: Buffer) => far.write(rewrite(chunk)))
    far.on('data', (chunk) => near.write(chunk))
    for (const [one, other] of [pair, [far, near] as const]) {
      one.on('close', () => {
        pairs.delete(pair)
        other.destroy()
      })
    }
    if (is_frozen) for (const socket of pair) socket.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target_url)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)

  const sockets = () => [...pairs].flat()
  const close = () => {
    server.close()
    for (const socket of sockets()) socket.destroy()
  }
  atEnd(close)
  return {
    url: url.toString(),
    connections: () => pairs.size,
    /** Ends what is open and every new connection. */
    cut() {
      is_cut = true
      for (const socket of sockets()) socket.destroy()
    },
    /** Nothing ends, and nothing passes. */
    freeze() {
      is_frozen = true
      for (const socket of sockets()) socket.pause()
    },
    restore() {
      is_cut = false
      is_frozen = false
      for (const socket of sockets()) socket.resume()
    },
    close,
  }
}
