// How many connections a server has for the service, as far as that can be known from here.

import { Socket } from 'node:net'
import type { Client } from 'pg'
import { openClient } from './session.ts'

/** Undefined when the server cannot be asked, or when somebody stands between who has a limit of their own. */
export async function readConnectionRoom(url: string): Promise<number | undefined> {
  let client: Client | undefined
  try {
    client = await openClient({ url, application_name: 'svc start' })
    const { rows } = await client.query<{ room: number; client_port: number | null }>(
      `select current_setting('max_connections')::int
              - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true)::int, 0) as room,
              inet_client_port() as client_port`,
    )
    const [row] = rows
    return row && row.client_port === localPort(client) ? row.room : undefined
  } catch {
    return undefined
  } finally {
    await client?.end().catch(() => {})
  }
}

/** Where our end of the connection is. A pooler's connection to the server begins somewhere else. */
function localPort(client: Client): number | undefined {
  const { stream } = client.connection
  return stream instanceof Socket ? stream.localPort : undefined
}
