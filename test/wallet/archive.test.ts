// Archives: what leaves the database can be proved from files, and what stays can be proved without it.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { FrozenClock } from '../../src/platform/clock.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { archiveMonth, findManifests, verifyArchive } from '../../src/wallet/archive.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { keepPartitions } from '../../src/wallet/jobs.ts'
import { grantCredits } from '../../src/wallet/postings.ts'
import { replayLedger } from '../../src/wallet/replay.ts'
import { sealMonths } from '../../src/wallet/seal.ts'
import { PREPARE_TO_READ_MONTHS } from '../../src/wallet/seal-store.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { assertBooks, chargeOf, makeLedger, makeWallets, setLedgerTime, silent } from './support.ts'

const DAY_MS = 24 * 3_600_000

/** Three months with a call in each; the first two are sealed. */
async function setUp() {
  const url = await createDatabase()
  const db = openDb(url)
  after(() => db.close())
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-archive-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const now = new Date()
  const clock = new FrozenClock(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 15)))
  const months = [0, 1, 2].map((later) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later, 15))
      .toISOString()
      .slice(0, 7),
  )
  await setLedgerTime(url, clock.now())
  const [wallet_id = ''] = await makeWallets(db, 1, 1_000_000n, clock)
  const ledger = await makeLedger(url)
  after(() => ledger.stop())
  const call = async () => {
    const id = mintWalletId(wallet_id, clock.now())
    const hold = await ledger.hold({ id, wallet_id, min_credits: 100n, max_credits: 100n })
    return await ledger.settle(chargeOf(hold, 50n, 40n))
  }
  const first = await call()
  for (let month = 0; month < 2; month++) {
    clock.advance(31 * DAY_MS)
    await setLedgerTime(url, clock.now())
    await keepPartitions({ db, clock, log: silent, metrics: createMetrics() })
    await call()
  }
  await sealMonths(db)
  const archive = (month = months[0] ?? '', drop = false) =>
    archiveMonth(db, { month, folder, drop })
  return { url, db, folder, months, wallet_id, ledger, clock, call, first, archive }
}

const countLines = async (url: string, table: string) =>
  (await sql(url, `select 1 from ${table}`)).length

describe('an archived month', () => {
  it('is in files whose text has the digests of the seal, and the check still holds', async () => {
    const { url, db, folder, months, call, archive } = await setUp()
    const manifest = await archive()
    assert.deepEqual(
      manifest.files.map(({ part, rows }) => [part, rows]),
      [
        ['journal', 5],
        ['usage', 1],
        ['wallets', 1],
        ['accounts', 4],
        ['prices', 0],
      ],
    )
    const [journal] = manifest.files
    const text = zstdDecompressSync(await readFile(path.join(folder, journal?.file ?? '')))
    assert.equal(createHash('sha256').update(text).digest('hex'), journal?.digest)
    const [header, ...lines] = text.toString().split('\n')
    assert.equal(
      header,
      'bucket,tx,line,at,account,owner,amount,wallet_seq,balance_after,promotional_after,kind,description',
    )
    assert.equal(lines.filter((line) => line.endsWith(',welcome,Welcome credits')).length, 1)

    assert.equal(await countLines(url, 'journal'), 6)
    assert.equal(await countLines(url, `journal_y${months[0]?.replace('-', 'm')}_archived`), 5)
    await assertBooks(db)
    await call()
    await assertBooks(db)
    const report = await replayLedger(db)
    assert.equal(report.ok, true, JSON.stringify(report.proofs))
    assert.deepEqual(report.archived, [months[0]])
    const [file = ''] = await findManifests(folder)
    assert.deepEqual(await verifyArchive(db, file), [])
  })

  it('has every column of its rows, so that the seal covers all of them', async () => {
    const { url, folder, archive } = await setUp()
    const { files } = await archive()
    const tables = { journal: 'journal', usage: 'usage_event', prices: 'price_list' }
    const seals = { wallets: 'wallet_seal', accounts: 'account_seal' }
    for (const [part, table] of Object.entries({ ...tables, ...seals })) {
      const { file = '' } = files.find((candidate) => candidate.part === part) ?? {}
      const text = zstdDecompressSync(await readFile(path.join(folder, file))).toString()
      const columns = await sql<{ name: string }>(
        url,
        `select attname as name from pg_attribute
         where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
        [table],
      )
      // The month is in the name of the file and in the seal.
      const wanted = columns.map(({ name }) => name).filter((name) => name !== 'month')
      assert.deepEqual(text.split('\n')[0]?.split(',').toSorted(), wanted.toSorted(), part)
    }
  })

  it('is gone from the database where asked, and refuses rows either way', async () => {
    const { url, db, months, wallet_id, ledger, clock, first, archive } = await setUp()
    const old_id = mintWalletId(wallet_id, new Date(clock.now().getTime() - 62 * DAY_MS))
    await archive(months[0], true)
    assert.deepEqual(await sql(url, "select 1 from pg_class where relname like '%archived%'"), [])
    // Nobody knows any more that this was charged. So it is refused, not charged again.
    const again = { id: first.id, wallet_id, amount: 100n }
    await assert.rejects(ledger.settle(chargeOf(again, 50n, 40n)))
    await assert.rejects(
      db.transaction((tx) => grantCredits(tx, { id: old_id, account_id: wallet_id, amount: 5n })),
      { code: 'bad_request' },
    )
    assert.equal(await countLines(url, 'journal_default'), 0)
    await assertBooks(db)
  })

  it('was sealed, is the oldest, and is followed by a sealed one: others are refused', async () => {
    const { months, archive } = await setUp()
    await assert.rejects(archive(months[2]), /is not sealed/)
    await assert.rejects(archive(months[1]), /comes first/)
    await archive(months[0])
    await assert.rejects(archive(months[0]), /archived already/)
    await assert.rejects(archive(months[1]), /can be archived once/)
  })

  it('whose files were changed, cut or lost is found', async () => {
    const { db, folder, archive } = await setUp()
    const manifest = await archive()
    const [list = ''] = await findManifests(folder)
    for (const { file } of manifest.files) {
      const whole = await readFile(path.join(folder, file))
      const text = Buffer.concat([zstdDecompressSync(whole), Buffer.from('1')])
      for (const damaged of [zstdCompressSync(text), whole.subarray(0, whole.length - 3)]) {
        await writeFile(path.join(folder, file), damaged)
        assert.equal((await verifyArchive(db, list)).length, 1, file)
      }
      await rm(path.join(folder, file))
      assert.equal((await verifyArchive(db, list)).length, 1, file)
      await writeFile(path.join(folder, file), whole)
    }
    await writeFile(list, JSON.stringify({ ...manifest, digest: '0'.repeat(64) }))
    assert.equal((await verifyArchive(db, list)).length, 1)
  })
})

/** A pool that stops once, when it has read the seals, and goes on when something else was done. */
function openSlowDb(url: string, meanwhile: () => Promise<unknown>) {
  const slow = openDb(url)
  after(() => slow.close())
  let done = false
  const watch =
    (run: typeof slow.run): typeof slow.run =>
    async (statement, values) => {
      const rows = await run(statement, values)
      if (statement.name === 'wallet.select_seals' && !done) {
        done = true
        await meanwhile()
      }
      return rows
    }
  const transaction = slow.transaction.bind(slow)
  slow.run = watch(slow.run.bind(slow))
  slow.transaction = (work) =>
    transaction((tx) =>
      work({ ...tx, run: watch((statement, values) => tx.run(statement, values)) }),
    )
  return slow
}

describe('a call that a gateway whose clock is ahead began in the next month', () => {
  it('is no difference when the month in which it was posted is archived', async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const now = new Date()
    const startOf = (later: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later))
    const posted_at = new Date(startOf(1).getTime() - 1_000)
    const clock = new FrozenClock(posted_at)
    await setLedgerTime(url, clock.now())
    const [wallet_id = ''] = await makeWallets(db, 1, 1_000_000n, clock)
    const ledger = await makeLedger(url)
    after(() => ledger.stop())
    const id = mintWalletId(wallet_id, new Date(posted_at.getTime() + 2_000))
    const hold = await ledger.hold({ id, wallet_id, min_credits: 100n, max_credits: 100n })
    await ledger.settle(chargeOf(hold, 50n, 40n))
    clock.advance(70 * DAY_MS)
    await setLedgerTime(url, clock.now())
    await keepPartitions({ db, clock, log: silent, metrics: createMetrics() })
    await sealMonths(db)
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-archive-'))
    after(() => rm(folder, { recursive: true, force: true }))
    const prove = async () => (await replayLedger(db)).proofs.filter((proof) => proof.differences)
    assert.deepEqual(await prove(), [])
    await archiveMonth(db, { month: startOf(0).toISOString().slice(0, 7), folder, drop: true })
    assert.deepEqual(await prove(), [])
  })
})

describe('an archive that is made', () => {
  it('while the book is proved from the beginning is no difference', async () => {
    const { url, db, archive, months } = await setUp()
    const report = await replayLedger(openSlowDb(url, () => archive()))
    assert.deepEqual(
      report.proofs.filter(({ differences }) => differences > 0),
      [],
    )
    assert.deepEqual(report.archived, [months[0]])
    await assertBooks(db)
  })

  it('while another process makes it is refused, and the files are whole', async () => {
    const { url, db, folder, months, archive } = await setUp()
    const [month = ''] = months
    let refusal: unknown
    const slow = openSlowDb(url, async () => {
      refusal = await archive(month, true).catch((error: unknown) => error)
    })
    await archiveMonth(slow, { month, folder, drop: true })
    assert.match(String(refusal), /another process/)
    const [file = ''] = await findManifests(folder)
    assert.deepEqual(await verifyArchive(db, file), [])
  })

  it('waits for a slow disk, whatever time a transaction may be idle otherwise', async () => {
    const db = openDb(await createDatabase())
    after(() => db.close())
    const idle_limit = await db.transaction(async (tx) => {
      await tx.run(PREPARE_TO_READ_MONTHS)
      const text = "select current_setting('idle_in_transaction_session_timeout') as idle_limit"
      return await tx.run<{ idle_limit: string }>({ name: '', text })
    })
    assert.deepEqual(idle_limit, [{ idle_limit: '0' }])
  })

  it('by several processes at once takes the rows out once', async () => {
    const { url, db, folder, months, archive } = await setUp()
    const tries = await Promise.allSettled([archive(), archive(), archive()])
    const failed = tries.flatMap((made) => (made.status === 'rejected' ? [made.reason] : []))
    assert.equal(failed.length, 2)
    for (const error of failed) assert.match(String(error), /archived already|another process/)
    assert.equal(await countLines(url, `journal_y${months[0]?.replace('-', 'm')}_archived`), 5)
    const [file = ''] = await findManifests(folder)
    assert.deepEqual(await verifyArchive(db, file), [])
    await assertBooks(db)
  })
})
