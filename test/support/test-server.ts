// The PostgreSQL server that tests share. It is thrown away, so nothing has to reach the disk: no test cuts the power,
// and every database that is made or dropped would wait for the disk a few times.

import { Client } from 'pg'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres.ts'

export async function startTestServer(folder: string): Promise<EmbeddedPostgres> {
  // Each file of a process has a service with a pool of its own.
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '1000' }
  const server = await startEmbeddedPostgres({ data_dir: folder, log: () => {}, settings })
  await makeSignInCheap(server.url)
  return server
}

/** Thousands of connections are opened, and each would hash the password 4096 times on either side. */
async function makeSignInCheap(url: string): Promise<void> {
  const { username, password } = new URL(url)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('set scram_iterations = 1')
  await client.query(
    `alter role ${client.escapeIdentifier(username)} password ${client.escapeLiteral(decodeURIComponent(password))}`,
  )
  await client.end()
}
