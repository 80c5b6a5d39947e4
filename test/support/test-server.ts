// The PostgreSQL server that tests share. It is thrown away, so nothing has to reach the disk: no test cuts the power,
// and every database that is made or dropped would wait for the disk a few times.

import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres.ts'

export function startTestServer(folder: string): Promise<EmbeddedPostgres> {
  // Each file of a process has a service with a pool of its own.
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '1000' }
  return startEmbeddedPostgres({ data_dir: folder, log: () => {}, settings })
}
