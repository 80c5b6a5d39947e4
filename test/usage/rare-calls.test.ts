// A list of calls that are rare: the sums say on which days to look, and the list must not miss one for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { type CallItem, openApp, openDesk, type Person } from './support.ts'

const DAY_MS = 24 * 3_600_000
const DAYS = 6

const desk = await openDesk()

type Page = { data: CallItem[]; has_more: boolean; next_cursor: string | null }

/** Every page of a list, as somebody who presses “more” gets it. */
async function readAll(person: Person, query: string, limit: number): Promise<CallItem[]> {
  const items: CallItem[] = []
  let cursor = ''
  for (let pages = 0; pages < 100; pages++) {
    const url = `/account/usage?limit=${limit}${query}${cursor}`
    const page = await desk.read<Page>(url, person.bearer)
    items.push(...page.data)
    if (!page.has_more) return items
    cursor = `&cursor=${page.next_cursor}`
  }
  throw new Error('the list does not end')
}

const { developer: early, headers } = await openApp(desk)
const first_day = desk.clock.now().getTime()
for (let day = 0; day < DAYS; day++) {
  for (let i = 0; i < 4; i++) {
    const model = (day + i) % 5 === 0 ? 'gpt-4o' : 'gpt-4o-mini'
    await desk.ask(headers, i === 3 ? '[[sandbox:500]]' : `hello ${day} ${i}`, { model })
    desk.clock.advance(60_000)
  }
  await desk.flush()
  // The last day is not in the sums yet.
  if (day < DAYS - 1) await desk.fold()
  desk.clock.advance(DAY_MS)
}

/** The session of the first day has ended. */
async function signIn(person: Person): Promise<Person> {
  const entered = await desk.post('/auth/login', { email: person.email, password: PASSWORD })
  const { session_token } = entered.json<{ session_token: string }>()
  return { ...person, bearer: { authorization: `Bearer ${session_token}` } }
}

const developer = await signIn(early)

test('filtered, in pages of any size, it is the whole list without what does not fit', async () => {
  const all = await readAll(developer, '', 100)
  assert.equal(all.length, DAYS * 4)
  const rare = all.filter((call) => call.model === 'gpt-4o')
  assert.ok(rare.length >= 3 && rare.length <= DAYS * 2)
  const failed = all.filter((call) => call.status === 'failed')
  assert.equal(failed.length, DAYS)
  for (const limit of [1, 2, 3, 100]) {
    const ids = async (query: string) =>
      (await readAll(developer, query, limit)).map(({ id }) => id)
    const idsOf = (calls: CallItem[]) => calls.map(({ id }) => id)
    assert.deepEqual(await ids('&model=gpt-4o'), idsOf(rare))
    assert.deepEqual(await ids('&status=failed'), idsOf(failed))
    assert.deepEqual(await ids('&external_user_id=ext-1'), idsOf(all))
    assert.deepEqual(await ids('&external_user_id=nobody'), [])
    assert.deepEqual(await ids('&model=no-such-model'), [])
  }
})

test('a range that begins and ends within days is kept', async () => {
  const all = await readAll(developer, '', 100)
  const middle = all.slice(5, 17)
  const at = ({ id }: CallItem) => all.findIndex((call) => call.id === id)
  const times = await desk.read<{ data: { id: string; created_at: string }[] }>(
    '/account/usage?limit=100',
    developer.bearer,
  )
  const timeOf = (call: CallItem | undefined) =>
    Date.parse(times.data.find(({ id }) => id === call?.id)?.created_at ?? '')
  const to = new Date(timeOf(middle[0]) + 1).toISOString()
  const from = new Date(timeOf(middle.at(-1))).toISOString()
  assert.ok(Date.parse(from) > first_day)
  const rare = middle.filter((call) => call.model === 'gpt-4o-mini')
  const query = `&model=gpt-4o-mini&from=${from}&to=${to}`
  assert.deepEqual((await readAll(developer, query, 2)).map(at), rare.map(at))
})

test('failed calls that are no longer kept do not hide older ones that are', async () => {
  const { database_url } = desk
  await sql(database_url, 'delete from failed_call')
  const all = await readAll(developer, '', 100)
  assert.equal(all.length, DAYS * 3)
  const same = await readAll(developer, '&external_user_id=ext-1', 3)
  assert.deepEqual(
    same.map(({ id }) => id),
    all.map(({ id }) => id),
  )
  assert.deepEqual(await readAll(developer, '&status=failed', 3), [])
})

test('calls of more than a hundred days, one a day, are all found', async () => {
  const days = 104
  const person = await desk.register()
  const { key } = await desk.createKey(person.bearer)
  for (let day = 0; day < days; day++) {
    const model = day % 3 === 0 ? 'gpt-4o' : 'gpt-4o-mini'
    assert.equal(
      (await desk.ask({ authorization: `Bearer ${key}` }, 'hi', { model })).statusCode,
      200,
    )
    desk.clock.advance(DAY_MS)
    if (day % 20 === 0) await desk.fold()
  }
  const reader = await signIn(person)
  const all = await readAll(reader, '', 100)
  assert.equal(all.length, days)
  for (const limit of [2, 100]) {
    for (const model of ['gpt-4o', 'gpt-4o-mini']) {
      const found = await readAll(reader, `&model=${model}`, limit)
      assert.deepEqual(
        found.map(({ id }) => id),
        all.filter((call) => call.model === model).map(({ id }) => id),
      )
    }
  }
})
