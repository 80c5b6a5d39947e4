// `svc migrate`, `svc key-limit` and `svc grant`: commands without commands of their own.

import { requireAccount } from '../operators/accounts.ts'
import { giveCredits } from '../operators/grants.ts'
import { limitKey } from '../operators/keys.ts'
import { migrate } from '../platform/migrate.ts'
import { isUuid } from '../platform/tokens.ts'
import { bucketOf, mintWalletId } from '../wallet/bucket.ts'
import type { WithParts } from './ledger-commands.ts'
import { systemUser } from './operator-commands.ts'
import { UsageError } from './usage-error.ts'

const LIMIT_MAX = 1_000_000

export async function runMigrate(): Promise<void> {
  const { withDatabase } = await import('./with-parts.ts')
  await withDatabase(async (url) => {
    const applied = await migrate(url)
    print(applied.length === 0 ? 'nothing to apply' : applied.join('\n'))
  })
}

export async function runKeyLimit(
  [id, per_minute]: readonly string[],
  withParts: WithParts,
): Promise<void> {
  if (id === undefined || per_minute === undefined) throw new UsageError('two arguments are needed')
  const limit = requireInteger(per_minute, { min: 1, max: LIMIT_MAX })
  await withParts(async (parts) => {
    const { name } = await limitKey(parts, { id, per_minute: limit }, { who: systemUser() })
    print(`key ${id} (${name}): ${limit} requests a minute`)
  })
}

export async function runGrant(
  {
    args,
    given = {},
  }: { args: readonly string[]; given?: Readonly<Record<string, unknown>> | undefined },
  withParts: WithParts,
): Promise<void> {
  const [email, credits, grant_id] = args
  if (email === undefined || credits === undefined) throw new UsageError('two arguments are needed')
  const amount = BigInt(requireInteger(credits, { min: 1, max: Number.MAX_SAFE_INTEGER }))
  await withParts(async (parts) => {
    const account = await requireAccount(parts.db, email)
    const id = grant_id ?? mintWalletId(account.id, parts.clock.now())
    requireGrantId(id, account.id)
    // Said first: whoever is cut off can repeat it without giving twice.
    print(`grant ${id}`)
    const grant = { id, account, amount, is_paid: given['paid'] === true }
    const posted = await parts.db.transaction((tx) =>
      giveCredits(parts, tx, grant, { who: systemUser() }),
    )
    print(`${email}: ${posted.balance_before} + ${amount} = ${posted.balance_after} credits`)
  })
}

function requireGrantId(id: string, account_id: string): void {
  if (isUuid(id) && bucketOf(id) === bucketOf(account_id)) return
  throw new UsageError(`${id} is no grant id of this account: repeat the one that was printed`)
}

function requireInteger(text: string, range: { min: number; max: number }): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= range.min && value <= range.max) return value
  throw new UsageError(`${text} is not a whole number from ${range.min} to ${range.max}`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
