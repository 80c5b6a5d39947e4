// A provider that has these lists of models, in these pages, and says what it was asked.

import { createServer } from 'node:http'
import { atEnd } from './cleanup.ts'

export type ListPage = { status?: number; body: unknown }

export async function startModelLists(answer: (url: string) => ListPage) {
  const asked: { url: string; headers: NodeJS.Dict<string | string[]> }[] = []
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    asked.push({ url, headers: request.headers })
    const { status = 200, body } = answer(url)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked }
}
