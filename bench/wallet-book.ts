// A book with years in it beside an empty one: how long it takes to fill, seal and check, and whether hold and settle
// notice it. Run with `npm run bench:wallet -- --lines 20000000`.

import { Client } from 'pg'
import { Db } from '../src/platform/db.ts'
import { mintId } from '../src/platform/tokens.ts'
import { bucketOf } from '../src/wallet/bucket.ts'
import { checkLedger, proveBook } from '../src/wallet/check.ts'
import { partitionOf } from '../src/wallet/months.ts'
import { sealMonths } from '../src/wallet/seal.ts'
import { chargeOf, holdOf, inParallel, makeLedger, makeWallets } from '../test/wallet/support.ts'

const MONTHS = 4
const WALLETS = 1_000
const NEW_CALLS = 1_000

export async function fillBook(url: string, lines: number): Promise<void> {
  const db = new Db({ url, pool_size: 2, application_name: 'svc bench' })
  const each = Math.round(lines / 2 / MONTHS / WALLETS)
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(FILL)
    const now = new Date()
    const ids = Array.from({ length: WALLETS }, () => mintId())
    const total = each * MONTHS
    await client.query(
      `insert into wallet (bucket, id, posted, held, seq, opened_at)
       select b, i, $3, 0, $3, now() from unnest($1::smallint[], $2::uuid[]) as u (b, i)`,
      [ids.map(bucketOf), ids, total],
    )
    const started = performance.now()
    for (let index = 0; index < MONTHS; index++) {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - MONTHS + index, 1))
      await client.query('select make_ledger_partitions($1, 0)', [month])
      // The rows are proved when the month is sealed; the triggers would only do it twice.
      await client.query('set session_replication_role = replica')
      const partition = partitionOf('journal', month.toISOString().slice(0, 7))
      await client.query(`select fill_month('${partition}', $1, $2, $3)`, [
        month,
        index * each,
        each,
      ])
      await client.query('set session_replication_role = default')
    }
    say(`${(each * MONTHS * WALLETS * 2).toLocaleString('en')} lines written`, started)
    await client.query('vacuum analyze')
    await time('sealed', () => sealMonths(db))
    await time('checked from the seal, nothing new', () => requireRight(db))
  } finally {
    await client.end()
    await db.close()
  }
}

/** What the background does in turns, here all at once and one turn alone. */
export async function auditNewCalls(url: string): Promise<void> {
  const db = new Db({ url, pool_size: 4, application_name: 'svc bench' })
  try {
    const wallets = await makeWallets(db, 100, 1_000_000n)
    const ledger = await makeLedger(url)
    await inParallel(NEW_CALLS, 100, async (index) => {
      const hold = await ledger.hold(holdOf(wallets[index % wallets.length] ?? '', 1_000n))
      await ledger.settle(chargeOf(hold, 110n, 100n))
    })
    await ledger.stop()
    await time(`one bucket audited after ${NEW_CALLS} new calls`, () =>
      checkLedger(db, { buckets: [bucketOf(wallets[0] ?? '')], bounded: true }),
    )
    await time('what spans buckets audited', () => proveBook(db))
    await time('all buckets checked', () => requireRight(db))
  } finally {
    await db.close()
  }
}

async function requireRight(db: Db): Promise<void> {
  const report = await checkLedger(db)
  if (!report.ok) throw new Error(JSON.stringify(report.proofs))
}

async function time(title: string, work: () => Promise<unknown>): Promise<void> {
  const started = performance.now()
  await work()
  say(title, started)
}

function say(title: string, started: number): void {
  console.log(`${title}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

/** Top-ups of one credit, in the order of time: each wallet has p_each in the month, after p_before. */
const FILL = `
create function fill_month(p_partition text, p_month timestamptz, p_before integer, p_each integer) returns void
language plpgsql as $$
begin
  execute format('insert into %I (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, kind)
    select w.bucket, t.tx, l.line, t.at, l.account::journal_account, case l.line when 1 then w.id end, l.amount,
      case l.line when 1 then $2 + k end, case l.line when 1 then $2 + k end, ''topup''
    from generate_series(1, $3) k
    cross join (select bucket, id from wallet where seq > 1) w
    cross join lateral (
      select c.at, (lpad(to_hex((extract(epoch from c.at) * 1000)::bigint), 12, ''0'') || ''7''
        || lpad(to_hex(w.bucket * 64), 3, ''0'') || ''8'' || left(md5(w.id::text || k), 15))::uuid as tx
      from (select $1 + k * interval ''27 days'' / $3 as at) c
    ) t
    cross join (values (1, ''wallet'', 1), (2, ''external'', -1)) l (line, account, amount)', p_partition)
  using p_month, p_before, p_each;
end $$`
