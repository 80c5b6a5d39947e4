// A name server on a UDP port of this machine that answers what a test says, and counts who asks.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import ipaddr from 'ipaddr.js'

const TYPES: Record<number, 'A' | 'AAAA'> = { 1: 'A', 28: 'AAAA' }
const HEADER_BYTES = 12
const TTL_SECONDS = 0

/** Addresses of the asked kind, or null for no answer at all. */
export type Zone = (name: string, type: 'A' | 'AAAA') => readonly string[] | null

export async function startNameServer(zone: Zone) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query)
    asked.push(`${type} ${name}`)
    const addresses = zone(name, type)
    if (addresses) socket.send(answer(query.subarray(0, end), addresses), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => void socket.close(),
  }
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = TYPES[query.readUInt16BE(at + 1)] ?? 'A'
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 }
}

function answer(question: Buffer, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question)
  // A response, recursion available, no error.
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  return Buffer.concat([head, ...addresses.map(record)])
}

function record(address: string): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray())
  const head = Buffer.alloc(HEADER_BYTES)
  // The name is the one of the question.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(bytes.length === 4 ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(TTL_SECONDS, 6)
  head.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([head, bytes])
}
