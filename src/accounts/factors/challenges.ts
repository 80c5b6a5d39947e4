// Questions that wait for a factor: each is for one account and one purpose, lasts five minutes, is used up by its right
// answer and dies of five wrong ones. The store keeps few of them for each account.

import { randomBytes } from 'node:crypto'
import type { Tx } from '../../platform/db.ts'
import { digestSecret, mintId, mintSecret } from '../../platform/tokens.ts'
import {
  type ChallengePurpose,
  type ChallengeRow,
  countWrongAnswer,
  deleteChallenge,
  replaceChallenge,
} from './store.ts'

const CHALLENGE_LASTS_MS = 5 * 60_000
const WRONG_ANSWERS_MAX = 5
/** For each account and purpose; the oldest goes. */
const OPEN_MAX = 10
const SIGN_IN_PREFIX = 'svc_challenge_'
const CHALLENGE_BYTES = 32

export type Challenge = { challenge: string; expires_at: Date }

export type Asker = { account_id: string; session_id: string }

/** What a session asks: its earlier question for the same purpose ends. */
export async function openChallenge(
  tx: Tx,
  asker: Asker & { purpose: Exclude<ChallengePurpose, 'sign_in'>; sealed_secret?: string },
  now: Date,
): Promise<Challenge> {
  const opened = newChallenge(now)
  await replaceChallenge(
    tx,
    {
      ...opened,
      ...asker,
      sealed_secret: asker.sealed_secret ?? null,
      token_digest: null,
      password_hash: null,
    },
    OPEN_MAX,
  )
  return opened
}

/** The second step of a sign-in. Whoever has its id has shown the password. */
export async function openSignIn(
  tx: Tx,
  entrant: { account_id: string; password_hash: string },
  now: Date,
): Promise<Challenge & { challenge_id: string }> {
  const opened = newChallenge(now)
  const challenge_id = mintSecret(SIGN_IN_PREFIX)
  await replaceChallenge(
    tx,
    {
      ...opened,
      ...entrant,
      token_digest: digestSecret(challenge_id),
      purpose: 'sign_in',
      session_id: null,
      sealed_secret: null,
    },
    OPEN_MAX,
  )
  return { ...opened, challenge_id }
}

export function isOpen(row: ChallengeRow | undefined, now: Date): row is ChallengeRow {
  return row !== undefined && row.expires_at > now && row.wrong_answers < WRONG_ANSWERS_MAX
}

/** With the question locked. Undefined is a wrong answer, which is counted: do not roll it back. */
export async function answerChallenge<Answer>(
  tx: Tx,
  row: ChallengeRow,
  check: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  const answer = await check()
  if (answer === undefined) await countWrongAnswer(tx, row.id)
  else await deleteChallenge(tx, row.id)
  return answer
}

function newChallenge(now: Date) {
  return {
    id: mintId({ at: now }),
    challenge: randomBytes(CHALLENGE_BYTES).toString('base64url'),
    created_at: now,
    expires_at: new Date(now.getTime() + CHALLENGE_LASTS_MS),
  }
}
