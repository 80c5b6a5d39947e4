// A receiver in a process of its own: counts, and on request answers when each event arrived. A path of /dead is never
// answered.

import http from 'node:http'
import type { AddressInfo } from 'node:net'

const arrivals = new Map<string, number>()

const server = http.createServer((request, response) => {
  const at = performance.timeOrigin + performance.now()
  request.resume()
  if (request.url === '/dead') return
  request.on('end', () => response.end())
  const id = request.headers['webhook-id']
  if (typeof id === 'string') arrivals.set(id, at)
})

server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)

process.on('message', (question: 'count' | 'arrivals' | 'reset') => {
  if (question === 'count') process.send?.({ count: arrivals.size })
  if (question === 'arrivals') process.send?.({ arrivals: [...arrivals] })
  if (question === 'reset') arrivals.clear()
})
process.on('disconnect', () => process.exit())
