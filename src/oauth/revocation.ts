// RFC 7009. A refresh token stands for its grant, an access token for itself. What is unknown, or somebody
// else's, is answered like what was revoked: whoever asks learns nothing.

import { digestSecret } from '../platform/tokens.ts'
import type { AppRow } from './app-store.ts'
import { endFamily, type GrantParts } from './grants.ts'
import { lockGrants } from './store.ts'
import { deleteAccessToken, findRefreshToken } from './token-store.ts'
import { REFRESH_TOKEN_PATTERN } from './tokens.ts'

export async function revokeToken(parts: GrantParts, app: AppRow, token: string): Promise<void> {
  const digest = digestSecret(token)
  await parts.db.transaction(async (tx) => {
    if (REFRESH_TOKEN_PATTERN.test(token)) {
      const known = await findRefreshToken(tx, digest)
      const grant = known && (await lockGrants(tx, [known.grant_id]))[0]
      if (grant?.app_id !== app.id) return
      await endFamily(parts, tx, grant)
      return
    }
    const deleted = await deleteAccessToken(tx, digest, app.id)
    if (deleted) await parts.feed.invalidate(tx, [`grant:${deleted.grant_id}`])
  })
}
