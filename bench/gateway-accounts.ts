// Who pays in bench/gateway.ts: a developer with a key, and a user of the developer's app, with a token and
// under the developer's own name for them. All have more credits than the bench can spend.

import { Client } from 'pg'
import { Db } from '../src/platform/db.ts'
import { digestSecret, mintApiKey, mintId, mintSecret } from '../src/platform/tokens.ts'
import { openWallet } from '../src/wallet/postings.ts'

const BALANCE_CREDITS = 1_000_000_000_000_000n
/** High enough to be counted at each call and never to be reached. */
const CAP_CREDITS = 900_000_000_000_000n
const MARKUP_BPS = 2_000

/** Headers of a call that each of them pays for. */
export type Payers = {
  developer: Record<string, string>
  token: Record<string, string>
  capped_token: Record<string, string>
  linked_user: Record<string, string>
}

export async function makePayers(database_url: string): Promise<Payers> {
  const database = new Client({ connectionString: database_url })
  await database.connect()
  const developer_id = await makeAccount(database, database_url, 'developer')
  const key = mintApiKey()
  await database.query(
    `insert into api_key (id, account_id, token_digest, name, billing_mode, prefix, created_at, rate_limit_per_minute)
     values ($1, $2, $3, 'bench', 'developer', 'sk-svc-bench', now(), 1000000)`,
    [mintId(), developer_id, digestSecret(key)],
  )
  const app_id = mintId()
  await database.query(
    `insert into app (id, developer_id, client_id, secret_digest, name, redirect_uris, allowed_scopes, markup_bps, created_at)
     values ($1, $2, 'bench', $3, 'bench', '{}', '{credits.read,credits.spend}', $4, now())`,
    [app_id, developer_id, digestSecret('bench'), MARKUP_BPS],
  )
  const connect = async (name: string, cap_credits: bigint | null) => {
    const account_id = await makeAccount(database, database_url, name)
    return await makeGrant(database, { account_id, app_id, cap_credits })
  }
  const [plain, capped, linked] = [
    await connect('user', null),
    await connect('capped user', CAP_CREDITS),
    await connect('linked user', null),
  ]
  await database.query(
    `insert into hosted_link (app_id, external_user_id, developer_id, grant_id, linked_at)
     values ($1, 'bench', $2, $3, now())`,
    [app_id, developer_id, linked.grant_id],
  )
  await database.end()
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  return {
    developer: bearer(key),
    token: bearer(plain.token),
    capped_token: bearer(capped.token),
    linked_user: { ...bearer(key), 'x-svc-user': 'bench' },
  }
}

async function makeAccount(database: Client, database_url: string, name: string): Promise<string> {
  const at = new Date()
  const account_id = mintId({ at })
  await database.query(
    `insert into account (id, email, email_key, password_hash, created_at) values ($1, $2, $2, '', now())`,
    [account_id, name],
  )
  const db = new Db({ url: database_url, pool_size: 1, application_name: 'svc bench' })
  await db.transaction((tx) => openWallet(tx, { account_id, welcome_credits: BALANCE_CREDITS, at }))
  await db.close()
  return account_id
}

async function makeGrant(
  database: Client,
  given: { account_id: string; app_id: string; cap_credits: bigint | null },
): Promise<{ grant_id: string; token: string }> {
  const [connection_id, grant_id] = [mintId(), mintId()]
  const token = mintSecret('svc_token_')
  await database.query(
    `insert into app_connection (id, app_id, account_id, cap_credits, agreed_markup_bps, created_at, connected_at)
     values ($1, $2, $3, $4, $5, now(), now())`,
    [connection_id, given.app_id, given.account_id, given.cap_credits, MARKUP_BPS],
  )
  await database.query(
    `insert into oauth_grant (id, connection_id, scopes, created_at, activated_at)
     values ($1, $2, '{credits.read,credits.spend}', now(), now())`,
    [grant_id, connection_id],
  )
  await database.query(
    `insert into oauth_access_token (token_digest, grant_id, scopes, expires_at)
     values ($1, $2, '{credits.read,credits.spend}', now() + interval '1 day')`,
    [digestSecret(token), grant_id],
  )
  return { grant_id, token }
}
