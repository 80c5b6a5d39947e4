import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { FrozenClock } from '../platform/clock.ts'
import { forgetOldRows } from './retention.ts'

const DAY_MS = 24 * 3_600_000
const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

describe('what is forgotten', () => {
  it('is every answer and every counter whose time is over, also when there are many batches of them', async () => {
    const now = new Date()
    await sql(
      url,
      `insert into idempotency (bucket, principal, endpoint, key, body_hash, created_at)
       select 0, gen_random_uuid(), 'x', i::text, '', $1::timestamptz - make_interval(days => i % 90)
       from generate_series(1, 5000) i`,
      [now],
    )
    await sql(
      url,
      `insert into spend_counter (bucket, owner_id, period, spent, held)
       select 0, gen_random_uuid(), ($1::timestamptz - make_interval(days => i % 90))::date, 1, i % 2
       from generate_series(1, 5000) i
       union all select 0, gen_random_uuid(), '1970-01-01', 1, 0`,
      [now],
    )
    await forgetOldRows({ db, clock: new FrozenClock(now) })
    const [left] = await sql<{ answers: string; counters: string; held: string; total: string }>(
      url,
      `select (select max($1::timestamptz - created_at)::text from idempotency) as answers,
         (select max($1::date - period)::text from spend_counter where period > '1970-01-02' and held = 0) as counters,
         (select count(*)::text from spend_counter where held > 0) as held,
         (select count(*)::text from spend_counter where period = '1970-01-01') as total`,
      [now],
    )
    assert.deepEqual(left, { answers: '45 days', counters: '62', held: '2500', total: '1' })
  })

  it('is a week of the outbox 35 days after its end, as a whole', async () => {
    const weeks = async () =>
      (
        await sql<{ name: string }>(
          url,
          `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'outbox'::regclass and c.relname <> 'outbox_default' order by 1`,
        )
      ).map(({ name }) => name)
    const made = await weeks()
    const [first = ''] = made
    // The week that has begun ends on the next Monday.
    const now = new Date()
    const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())
    const end = new Date(midnight + (7 - ((now.getUTCDay() + 6) % 7)) * DAY_MS)
    const clock = new FrozenClock(new Date(end.getTime() + 35 * DAY_MS - 1))
    await forgetOldRows({ db, clock })
    assert.deepEqual(await weeks(), made)
    clock.advance(1)
    await forgetOldRows({ db, clock })
    assert.deepEqual(await weeks(), made.slice(1))
    assert.match(first, /^outbox_y\d{4}w\d{2}$/)
  })
})
