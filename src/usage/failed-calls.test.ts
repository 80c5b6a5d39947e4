import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { silent } from '../../test/wallet/support.ts'
import { FrozenClock } from '../platform/clock.ts'
import { mintId } from '../platform/tokens.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import { type FailedCall, FailedCalls } from './failed-calls.ts'
import { usageJobs } from './jobs.ts'

const DAY_MS = 24 * 3_600_000
const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

function refusedCall(change: Partial<FailedCall> = {}): FailedCall {
  const wallet_id = mintId()
  return {
    id: mintWalletId(wallet_id, new Date()),
    wallet_id,
    developer_id: wallet_id,
    key_id: null,
    client_id: null,
    external_user_id: null,
    billing_mode: 'developer',
    endpoint: '/v1/messages',
    model: 'gpt-4o',
    upstream_model: null,
    stream: false,
    request_id: mintId().replaceAll('-', ''),
    outcome: 'refused',
    error_code: 'insufficient_credits',
    http_status: 402,
    total_ms: 1,
    ...change,
  }
}

async function count(): Promise<{ rows: number; requests: number }> {
  const [found] = await sql<{ rows: number; requests: number }>(
    url,
    `select (select count(*) from failed_call)::integer as rows,
       (select coalesce(sum(requests), 0) from usage_hour where grain = 0)::integer as requests`,
  )
  assert.ok(found)
  return found
}

describe('calls that cost nothing', () => {
  it('are written in batches, and one that is written twice is there and counted once', async () => {
    const calls = new FailedCalls(() => assert.fail('a call was dropped'))
    const repeated = refusedCall()
    for (let i = 0; i < 1_200; i++) calls.note(refusedCall())
    calls.note(repeated)
    await calls.flush(db)
    calls.note(repeated)
    await calls.flush(db)
    assert.deepEqual(await count(), { rows: 1_201, requests: 1_201 })
  })

  it('wait while the database is away, up to a bound beyond which they are only counted', async () => {
    let dropped = 0
    const calls = new FailedCalls((more) => {
      dropped += more
    })
    const gone = openDb(url)
    await gone.close()
    const before = await count()
    calls.note(refusedCall())
    await assert.rejects(calls.flush(gone))
    await calls.flush(db)
    assert.equal((await count()).rows, before.rows + 1)
    assert.equal(dropped, 0)
    for (let i = 0; i < 20_003; i++) calls.note(refusedCall())
    assert.equal(dropped, 3)
  })

  it('of which the database refuses one do not stand in the way of those that come later', async () => {
    let dropped = 0
    const calls = new FailedCalls((more) => {
      dropped += more
    })
    const before = await count()
    calls.note(refusedCall({ http_status: 1_000_000 }))
    await assert.rejects(calls.flush(db))
    calls.note(refusedCall({ model: 'a\0b\ud800' }))
    await calls.flush(db)
    assert.equal(dropped, 1)
    assert.equal((await count()).rows, before.rows + 1)
  })

  it('are dropped 90 days after the end of their month, and stay in the sums', async () => {
    const before = await count()
    const clock = new FrozenClock(new Date())
    const forget = async () => {
      const jobs = usageJobs({ db, clock, log: silent, wakeMailSender: () => {} })
      const job = jobs.find(({ name }) => name === 'usage.forget_failed_calls')
      await job?.run(new AbortController().signal)
    }
    clock.advance(89 * DAY_MS)
    await forget()
    assert.deepEqual(await count(), before)
    clock.advance(33 * DAY_MS)
    await forget()
    assert.deepEqual(await count(), { rows: 0, requests: before.requests })
  })
})
