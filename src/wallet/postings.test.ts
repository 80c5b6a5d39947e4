import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { mintId } from '../platform/tokens.ts'
import { mintWalletId } from './bucket.ts'
import { grantCredits, openWallet, readBalance, transferCredits } from './postings.ts'

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

describe('movements between wallets', () => {
  const at = new Date()

  async function open(welcome_credits: bigint): Promise<string> {
    const account_id = mintId({ at })
    await db.transaction((tx) => openWallet(tx, { account_id, welcome_credits, at }))
    return account_id
  }

  it('welcome credits are posted once, however often the wallet is opened', async () => {
    const account_id = await open(1_000_000n)
    const again = await db.transaction((tx) =>
      openWallet(tx, { account_id, welcome_credits: 1_000_000n, at }),
    )
    assert.equal(again.balance, 1_000_000n)
    assert.deepEqual(await readBalance(db, account_id), {
      balance: 1_000_000n,
      held: 0n,
      available: 1_000_000n,
      promotional: 1_000_000n,
    })
    assert.equal(await readBalance(db, mintId()), undefined)
  })

  it('a wallet can open with nothing', async () => {
    const account_id = await open(0n)
    assert.equal((await readBalance(db, account_id))?.balance, 0n)
  })

  it('a grant with the same id posts once', async () => {
    const account_id = await open(5n)
    const id = mintWalletId(account_id, at)
    const first = await db.transaction((tx) => grantCredits(tx, { id, account_id, amount: 7n }))
    const second = await db.transaction((tx) => grantCredits(tx, { id, account_id, amount: 7n }))
    assert.deepEqual({ ...first, repeated: true }, second)
    assert.equal(second.balance_after, 12n)
    await assert.rejects(
      db.transaction((tx) => grantCredits(tx, { id, account_id, amount: 8n })),
      /exists with another amount/,
    )
  })

  it('a transfer moves credits in two balanced transactions', async () => {
    const from_account_id = await open(100n)
    const to_account_id = await open(0n)
    const transfer = {
      id: mintWalletId(from_account_id, at),
      receipt_id: mintWalletId(to_account_id, at),
      from_account_id,
      to_account_id,
      amount: 60n,
      promotional_credits: 'as_money' as const,
    }
    const result = await db.transaction((tx) => transferCredits(tx, transfer))
    assert.equal(result.from.balance_after, 40n)
    assert.equal(result.to.balance_after, 60n)
    await assert.rejects(
      db.transaction((tx) =>
        transferCredits(tx, {
          ...transfer,
          id: mintWalletId(from_account_id, at),
          receipt_id: mintWalletId(to_account_id, at),
          amount: 41n,
        }),
      ),
      { code: 'insufficient_credits' },
    )
    const [sum] = await sql<{ total: string }>(url, 'select sum(amount) as total from journal')
    assert.equal(sum?.total, '0')
  })

  it('the database refuses a changed, deleted or unbalanced journal line', async () => {
    await open(3n)
    await assert.rejects(sql(url, 'update journal set amount = 4'), /append-only/)
    await assert.rejects(sql(url, 'delete from journal'), /append-only/)
    await assert.rejects(sql(url, 'truncate journal'), /append-only/)
    const id = mintId({ at })
    for (const table of ['journal', 'journal_default']) {
      await assert.rejects(
        sql(
          url,
          `insert into ${table} (bucket, tx, line, at, account, amount, kind)
           values (wallet_bucket($1), $1, 1, id_time($1), 'promo', 5, 'grant')`,
          [table === 'journal' ? id : '00000000-0000-7000-8000-000000000000'],
        ),
        /do not sum to zero/,
      )
    }
  })

  it('the database refuses a negative wallet', async () => {
    const account_id = await open(3n)
    await assert.rejects(
      sql(url, 'update wallet set posted = -1, held = 0 where id = $1', [account_id]),
      /wallet_is_never_negative|wallet_held_is_covered/,
    )
    await assert.rejects(
      sql(url, 'update wallet set held = posted + 1 where id = $1', [account_id]),
      /wallet_held_is_covered/,
    )
  })
})
