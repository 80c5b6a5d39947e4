// The service over a socket, with the face of the application in this process: the same tests drive both.

import { once } from 'node:events'
import http from 'node:http'
import type { InjectOptions } from 'fastify'
import { type Answer, callers, sandboxSettings } from './app.ts'
import { atEnd } from './cleanup.ts'
import { createDatabase } from './database.ts'
import { type ServerProcess, type Settings, startServer } from './service.ts'
import { sharedSandbox } from './shared-sandbox.ts'

const REPLY_LIMIT_MS = 30_000

export type RemoteService = ReturnType<typeof reach>

/** Two real processes on one fresh database, as on two machines. */
export async function startTwo(settings: Settings = {}) {
  const database_url = await createDatabase()
  const sandbox = await sharedSandbox()
  const all = {
    DATABASE_URL: database_url,
    TOKEN_LIMIT_PER_MINUTE: '1000000',
    ...sandboxSettings(sandbox.urls),
    ...settings,
  }
  const [left, right] = await Promise.all([startServer(all), startServer(all)])
  return { database_url, left: reach(left), right: reach(right) }
}

export function reach(server: ServerProcess) {
  const agent = new http.Agent({ keepAlive: true })
  atEnd(() => agent.destroy())
  const request = (given: InjectOptions) => send(server.url, given, agent)
  return { ...callers(request), request, server }
}

async function send(base: string, given: InjectOptions, agent: http.Agent): Promise<Answer> {
  if (typeof given.url !== 'string') throw new Error('a test names its address as text')
  const asked = http.request(base + given.url, {
    method: given.method ?? 'GET',
    headers: given.headers ?? {},
    agent,
    signal: AbortSignal.timeout(REPLY_LIMIT_MS),
  })
  asked.end(given.payload)
  const [response] = (await once(asked, 'response')) as [http.IncomingMessage]
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  const { statusCode = 0, headers } = response
  return { statusCode, headers, body, json: () => JSON.parse(body) }
}
