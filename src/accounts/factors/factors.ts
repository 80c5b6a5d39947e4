// The factors of an account: which there are, adding one, ending one, and the recovery codes beside them. Every change is
// in the security log, and reaches the sessions of the account, which know whether there is a factor.

import type { Static } from 'typebox'
import type { Db, Queryable, Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { InvalidationFeed } from '../../platform/invalidation.ts'
import { violatedConstraint } from '../../platform/sql-errors.ts'
import { isUuid, mintId } from '../../platform/tokens.ts'
import type { SecurityEventKind } from '../security-log/event-kinds.ts'
import { recordSecurityEvent } from '../security-log/security-log.ts'
import { type Client, requireOpenSession } from '../sessions.ts'
import { answerChallenge, isOpen, openChallenge } from './challenges.ts'
import type { Registration } from './passkey-schemas.ts'
import { readRegistration, registrationOptions, requireRelyingParty } from './passkeys.ts'
import type { FactorProofParts } from './proofs.ts'
import { dropRecoveryCodes, makeRecoveryCodes } from './recovery-codes.ts'
import {
  type ChallengePurpose,
  type ChallengeRow,
  countRecoveryCodes,
  deleteFactor,
  type FactorKind,
  type FactorRow,
  insertPasskey,
  insertTotp,
  listFactorRows,
  listPasskeys,
  lockChallenge,
  lockOwner,
  type NewFactor,
} from './store.ts'
import { describeTotp, matchStep, mintTotpSecret } from './totp.ts'

const FACTORS_MAX = 10
const TOTP_NAME = 'Authenticator app'

export type FactorParts = FactorProofParts & { db: Db; feed: InvalidationFeed }

/** Whose factors, by which session. */
export type Doer = { account_id: string; session_id: string; client: Client }

export type Factors = { factors: FactorRow[]; recovery_codes_left: number }

/** With the first factor come recovery codes, this once. */
export type Added = { factor: FactorRow; recovery_codes: string[] | null }

export async function listFactors(db: Queryable, account_id: string): Promise<Factors> {
  const [factors, recovery_codes_left] = await Promise.all([
    listFactorRows(db, account_id),
    countRecoveryCodes(db, account_id),
  ])
  return { factors, recovery_codes_left }
}

export async function beginTotp(parts: FactorParts, doer: Doer) {
  const now = parts.clock.now()
  const secret = mintTotpSecret()
  return await parts.db.transaction(async (tx) => {
    const email = await requireRoom(parts, tx, { ...doer, kind: 'totp' })
    const { account_id, session_id } = doer
    const sealed_secret = parts.secret_box.seal(secret, boundTo(account_id))
    const wanted = { account_id, session_id, purpose: 'add_totp', sealed_secret } as const
    const { expires_at } = await openChallenge(tx, wanted, now)
    return { ...describeTotp(secret, email), expires_at }
  })
}

export async function confirmTotp(parts: FactorParts, doer: Doer, code: string): Promise<Added> {
  const { account_id } = doer
  return await add(parts, doer, {
    purpose: 'add_totp',
    kind: 'totp',
    name: TOTP_NAME,
    wrong: () => wrongProof('code', 'The code does not fit the secret.'),
    insert: async (tx, asked, row) => {
      const secret = parts.secret_box.open(asked.sealed_secret ?? '', boundTo(account_id))
      const last_step = matchStep(secret, code, row.created_at)
      if (last_step === undefined) return undefined
      const sealed_secret = parts.secret_box.seal(secret, row.id)
      await insertTotp(tx, { ...row, sealed_secret, last_step })
      return row
    },
  })
}

export async function beginPasskey(parts: FactorParts, doer: Doer) {
  const party = requireRelyingParty(parts.public_url)
  const { account_id, session_id } = doer
  return await parts.db.transaction(async (tx) => {
    const email = await requireRoom(parts, tx, { ...doer, kind: 'passkey' })
    const wanted = { account_id, session_id, purpose: 'add_passkey' } as const
    const { challenge, expires_at } = await openChallenge(tx, wanted, parts.clock.now())
    const known = await listPasskeys(tx, account_id)
    const options = await registrationOptions(party, { challenge, account_id, email, known })
    return { options, expires_at }
  })
}

export async function addPasskey(
  parts: FactorParts,
  doer: Doer,
  given: { name: string; response: Static<typeof Registration> },
): Promise<Added> {
  const party = requireRelyingParty(parts.public_url)
  try {
    return await add(parts, doer, {
      purpose: 'add_passkey',
      kind: 'passkey',
      name: given.name,
      wrong: () => wrongProof('response', 'The passkey is not the answer to what was asked.'),
      insert: async (tx, asked, row) => {
        const passkey = await readRegistration(party, asked.challenge, given.response)
        if (!passkey) return undefined
        await insertPasskey(tx, { ...row, ...passkey })
        return row
      },
    })
  } catch (error) {
    if (violatedConstraint(error) !== 'factor_credential_is_unique') throw error
    throw wrongProof('response', 'This passkey is registered already.')
  }
}

export async function removeFactor(parts: FactorParts, doer: Doer, id: string): Promise<void> {
  if (!isUuid(id)) throw new ApiError('not_found')
  const { account_id } = doer
  await parts.db.transaction(async (tx) => {
    await lockOwner(tx, account_id)
    const removed = await deleteFactor(tx, { id, account_id })
    if (!removed) throw new ApiError('not_found')
    const left = await listFactorRows(tx, account_id)
    // Codes that stand in for nothing must not wait for a factor that comes later.
    if (left.length === 0) await dropRecoveryCodes(tx, { account_id, at: parts.clock.now() })
    await parts.feed.invalidate(tx, [`account:${account_id}`])
    await record(parts, tx, doer, {
      kind: 'factor_removed',
      details: {
        factor_id: id,
        factor: removed.kind,
        name: removed.name,
        factors_left: left.length,
      },
    })
  })
}

export async function renewRecoveryCodes(parts: FactorParts, doer: Doer): Promise<string[]> {
  const { account_id } = doer
  return await parts.db.transaction(async (tx) => {
    await lockOwner(tx, account_id)
    if ((await listFactorRows(tx, account_id)).length === 0) {
      throw new ApiError('bad_request', {
        message: 'Recovery codes stand in for a second factor, and there is none.',
        hint: 'Add one with POST /account/factors/totp; codes come with it.',
      })
    }
    return await makeCodes(parts, tx, doer)
  })
}

type Addition = {
  purpose: ChallengePurpose
  kind: FactorKind
  name: string
  wrong: () => ApiError
  /** Undefined: what was given does not answer what was asked. */
  insert: (tx: Tx, asked: ChallengeRow, row: NewFactor) => Promise<NewFactor | undefined>
}

async function add(parts: FactorParts, doer: Doer, addition: Addition): Promise<Added> {
  const { account_id, session_id } = doer
  const { purpose, kind, name } = addition
  const now = parts.clock.now()
  const result = await parts.db.transaction(async (tx) => {
    await requireRoom(parts, tx, { ...doer, kind })
    const asked = await lockChallenge(tx, { account_id, session_id, purpose })
    if (!isOpen(asked, now)) return { failed: nothingAsked() }
    const row = { id: mintId({ at: now }), account_id, name, created_at: now }
    const made = await answerChallenge(tx, asked, () => addition.insert(tx, asked, row))
    if (!made) return { failed: addition.wrong() }
    return { added: await settleAddition(parts, tx, doer, { row, kind }) }
  })
  if ('failed' in result) throw result.failed
  return result.added
}

async function settleAddition(
  parts: FactorParts,
  tx: Tx,
  doer: Doer,
  { row, kind }: { row: NewFactor; kind: FactorKind },
): Promise<Added> {
  const { id, account_id, name, created_at } = row
  await parts.feed.invalidate(tx, [`account:${account_id}`])
  await record(parts, tx, doer, {
    kind: 'factor_added',
    details: { factor_id: id, factor: kind, name },
  })
  const is_first = (await listFactorRows(tx, account_id)).length === 1
  return {
    factor: { id, kind, name, created_at, last_used_at: null },
    recovery_codes: is_first ? await makeCodes(parts, tx, doer) : null,
  }
}

async function makeCodes(parts: FactorParts, tx: Tx, doer: Doer): Promise<string[]> {
  const codes = await makeRecoveryCodes(tx, { account_id: doer.account_id, at: parts.clock.now() })
  await record(parts, tx, doer, { kind: 'recovery_codes_made', details: { codes: codes.length } })
  return codes
}

async function record(
  parts: FactorParts,
  tx: Tx,
  doer: Doer,
  event: { kind: SecurityEventKind; details: Record<string, string | number> },
): Promise<void> {
  await recordSecurityEvent(parts, tx, { ...doer, ...event, at: parts.clock.now() })
}

/** The owner's address. Nobody else adds to or takes from the factors until the transaction ends. */
async function requireRoom(
  parts: FactorParts,
  tx: Tx,
  { account_id, session_id, kind }: Doer & { kind: FactorKind },
): Promise<string> {
  const email = await lockOwner(tx, account_id)
  if (email === undefined) throw new ApiError('user_not_found')
  // A factor of somebody who was shut out by a reset would shut the owner out.
  await requireOpenSession(parts, tx, session_id)
  const factors = await listFactorRows(tx, account_id)
  if (kind === 'totp' && factors.some((factor) => factor.kind === 'totp')) {
    throw new ApiError('bad_request', {
      message: 'There is an authenticator app already.',
      hint: 'Remove it with DELETE /account/factors/:id, then add the new one.',
    })
  }
  if (factors.length < FACTORS_MAX) return email
  throw new ApiError('bad_request', { message: `An account has at most ${FACTORS_MAX} factors.` })
}

function nothingAsked(): ApiError {
  return new ApiError('bad_request', {
    message: 'Nothing was begun, or it is too old.',
    hint: 'Begin again with POST /account/factors/totp or POST /account/factors/passkeys/options.',
  })
}

function wrongProof(param: string, message: string): ApiError {
  return new ApiError('bad_request', {
    message,
    param,
    hint: 'After 5 wrong answers, begin again.',
  })
}

function boundTo(account_id: string): string {
  return `add_totp:${account_id}`
}
