// The OpenAPI document without a running service. It is made from the routes alone: no database is asked.

import { buildApp } from './app.ts'
import { closeParts, compose } from './compose.ts'
import { loadConfig } from './config.ts'
import { createLog } from './platform/log.ts'

export async function readDocument(public_url?: string): Promise<unknown> {
  const parts = compose({
    config: loadConfig({ PUBLIC_URL: public_url }),
    database_url: 'postgres://localhost:1/none',
    log: createLog({ level: 'silent' }),
  })
  const app = await buildApp(parts)
  parts.lifecycle.phase = 'ready'
  const reply = await app.inject('/openapi.json')
  await app.close()
  await closeParts(parts)
  return reply.json()
}
