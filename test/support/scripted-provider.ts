// A provider that says exactly these bytes, whatever it is asked: for what no real one and no sandbox would say.

import { createServer, type Socket } from 'node:net'
import { atEnd } from './cleanup.ts'

/** `hang`: the connection stays open afterwards. */
export type Script = { bytes: string; hang?: boolean }

export async function startScriptedProvider() {
  const open = new Set<Socket>()
  let answer = (_request: string): Script => ({ bytes: '' })
  let calls = 0
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (!isWhole(received)) return
      const script = answer(received)
      received = ''
      calls += 1
      if (script.hang) socket.write(script.bytes, 'latin1')
      else socket.end(script.bytes, 'latin1')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    open: () => open.size,
    say(script: Script) {
      answer = () => script
    },
    /** Where calls that are made at once are to be answered differently. */
    sayByRequest(choose: (request: string) => Script) {
      answer = choose
    },
  }
}

export function eventStream(...records: string[]): string {
  const body = records.map((record) => `data: ${record}\n\n`).join('')
  return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n${body}`
}

export function jsonBody(body: string): string {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n`
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = Number(/content-length: (\d+)/i.exec(request)?.[1] ?? 0)
  return request.length - end - 4 >= length
}
