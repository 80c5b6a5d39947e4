// Mail that tells the owner of an account something. Queued in the transaction of what it tells.

import type { Tx } from '../platform/db.ts'
import { mintId } from '../platform/tokens.ts'
import { insertNotice } from './store.ts'

/** `words` are paragraphs, with an empty line between them. False: the account is deleted, and nobody is told. */
export async function queueNotice(
  tx: Tx,
  notice: { account_id: string; subject: string; words: string; at: Date },
): Promise<boolean> {
  return await insertNotice(tx, { id: mintId({ at: notice.at }), ...notice })
}
