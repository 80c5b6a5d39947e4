// A TCP link that can be slow, cut, or pointed elsewhere: what stands between a gateway and its database,
// or between a primary and its standby.

import { once } from 'node:events'
import net from 'node:net'

/** The server is idle outside a transaction: whatever it ran is committed. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

export class Proxy {
  /** Replies are held back this long. Requests are not. */
  delay_ms = 0
  target_port: number
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  readonly #delayed: 'replies' | 'requests'
  #armed = false
  #refuses = false
  cuts = 0

  constructor(target_port: number, delayed: 'replies' | 'requests' = 'replies') {
    this.target_port = target_port
    this.#delayed = delayed
    this.#server = net.createServer((socket) => this.#link(socket))
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    return address.port
  }

  /** The next committed batch is cut off from its caller: the work is done, the answer never arrives. */
  loseNextAnswer(): void {
    this.#armed = true
  }

  /** The server cannot be reached: what is open is cut, what is new is refused. */
  goAway(): void {
    this.refuseNew()
    this.cutAll()
  }

  refuseNew(): void {
    this.#refuses = true
  }

  comeBack(): void {
    this.#refuses = false
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cutAll()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #link(client: net.Socket): void {
    if (this.#refuses) {
      client.destroy()
      return
    }
    const server = net.connect(this.target_port, '127.0.0.1')
    let batch_sent = false
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
    client.on('data', (data) => {
      const chunk = Buffer.from(data)
      // Bind names the prepared statement, so every batch shows its name on the wire.
      if (chunk.includes('wallet.')) batch_sent = true
      this.#pass(server, chunk, 'requests')
    })
    server.on('data', (data) => {
      const chunk = Buffer.from(data)
      if (this.#armed && batch_sent && chunk.subarray(-6).equals(READY_FOR_QUERY)) {
        this.#armed = false
        this.cuts++
        client.destroy()
        return
      }
      this.#pass(client, chunk, 'replies')
    })
  }

  #pass(to: net.Socket, chunk: Buffer, direction: 'replies' | 'requests'): void {
    if (this.delay_ms === 0 || direction !== this.#delayed) {
      if (!to.destroyed) to.write(chunk)
      return
    }
    const timer = setTimeout(() => {
      if (!to.destroyed) to.write(chunk)
    }, this.delay_ms)
    timer.unref()
  }
}
