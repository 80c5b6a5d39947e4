// argon2id through Node's own crypto. Hashing is gated: it runs in the same small thread pool as DNS and
// files, and a burst of logins would stall them. Each kind of caller has a queue of its own, so that junk of one kind
// does not keep the others waiting.

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { ApiError } from '../platform/errors.ts'
import { Gate, GateFull } from '../platform/gate.ts'
import { PASSWORD_BYTES_MAX } from './password-policy.ts'

/** OWASP's minimum; about 40 ms. Raising them rehashes each password at its next login. */
const MEMORY_KIB = 19_456
const PASSES = 2
const PARALLELISM = 1
const TAG_LENGTH = 32
const NONCE_LENGTH = 16

/** Of each kind: with 40 ms for one, who is last waits a few seconds at most. */
const QUEUE_LIMIT = 50

const PHC_PATTERN =
  /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** Verified against when the account is unknown, so that both answers take the same time. */
const NOBODY = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${PARALLELISM}$${'A'.repeat(22)}$${'A'.repeat(43)}`

const derive = promisify(argon2)
const gate = new Gate({ limit: Math.max(1, availableParallelism() - 1), queue_limit: QUEUE_LIMIT })

/** Who sign in where they have signed in before do not wait behind those who never did. */
export type HashingTurn = {
  kind: 'sign_in_known' | 'sign_in' | 'register' | 'change'
  /** The bucket of the address, or the account: all of one caller's wait behind each other. */
  caller: string
}

const CHANGE: HashingTurn = { kind: 'change', caller: '' }

export async function hashPassword(password: string, turn = CHANGE): Promise<string> {
  const nonce = randomBytes(NONCE_LENGTH)
  const parameters = { nonce, memory: MEMORY_KIB, passes: PASSES, parallelism: PARALLELISM }
  const tag = await run(password, parameters, turn)
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${PARALLELISM}$${base64(nonce)}$${base64(tag)}`
}

/** `stored` undefined: there is no such account; the same work is done, the answer is no. */
export async function verifyPassword(
  password: string,
  stored: string | undefined,
  turn = CHANGE,
): Promise<boolean> {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return false
  const [, memory, passes, parallelism, nonce = '', tag = ''] =
    PHC_PATTERN.exec(stored ?? NOBODY) ?? []
  const expected = Buffer.from(tag, 'base64')
  const parameters = {
    nonce: Buffer.from(nonce, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  }
  const actual = await run(password, parameters, turn)
  return (
    actual.length === expected.length && timingSafeEqual(actual, expected) && stored !== undefined
  )
}

/** Whether the hash was made with other parameters than today's. */
export function needsRehash(stored: string): boolean {
  return !stored.startsWith(`$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${PARALLELISM}$`)
}

type Parameters = { nonce: Buffer; memory: number; passes: number; parallelism: number }

async function run(password: string, parameters: Parameters, turn: HashingTurn): Promise<Buffer> {
  try {
    return await gate.run(
      () => derive('argon2id', { ...parameters, message: password, tagLength: TAG_LENGTH }),
      turn,
    )
  } catch (error) {
    if (!(error instanceof GateFull)) throw error
    throw new ApiError('rate_limit_exceeded', { headers: { 'retry-after': '2' }, cause: error })
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
