// A link between a developer and a user, as the OAuth flow will make it.

import { mintId } from '../../src/platform/tokens.ts'
import type { TestApp } from './app.ts'
import { sql } from './database.ts'

type Person = { user_id: string }

export async function linkUser(
  service: TestApp,
  link: {
    developer: Person
    user: Person
    external_user_id: string | null
    client_id?: string
    ended?: boolean
  },
): Promise<void> {
  const now = service.clock.now()
  await sql(
    service.database_url,
    `insert into account_link (id, developer_id, account_id, client_id, external_user_id, created_at, ended_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      mintId({ at: now }),
      link.developer.user_id,
      link.user.user_id,
      link.client_id ?? 'app',
      link.external_user_id,
      now,
      link.ended ? now : null,
    ],
  )
}
