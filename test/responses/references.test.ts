// What a model answered can be referred to in a later turn, by whoever was answered, for some days.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mintId } from '../../src/gateway/dialects/responses/ids.ts'
import { sql } from '../support/database.ts'
import {
  addResponder,
  type Item,
  lastAsked,
  openResponder,
  say,
  textOf,
} from '../support/responses.ts'

const MODELS = [
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-4-turbo',
  'gpt-4',
  'gpt-3.5-turbo',
  'gpt-5',
  'gpt-5-mini',
  'anthropic/claude-opus-4',
  'anthropic/claude-sonnet-4',
  'anthropic/claude-haiku-3.5',
  'google/gemini-2.5-pro',
  'google/gemini-2.5-flash',
  'google/gemini-2.0-flash',
]
const DAY_MS = 86_400_000

const me = await openResponder()
const { service } = me
const model = 'gpt-4o-mini'

const own = { account_id: me.user_id, client_id: null }
let items_made = 0

/** As an answer of today would have it. */
function newItem(text: string) {
  const source = { secret: Buffer.from('test'), call_id: 'call', created: service.clock.now() }
  const content = [{ type: 'output_text', text }]
  return { id: mintId(source, 'msg', ++items_made), type: 'message', role: 'assistant', content }
}

const refer = (items: readonly Pick<Item, 'id'>[]) =>
  items.map(({ id }) => ({ type: 'item_reference', id }))

/** How often the items of references were asked for. */
async function queries(): Promise<number> {
  const { values } = await service.parts.metrics.db_statements.get()
  const count = values.find(
    (one) =>
      one.metricName?.endsWith('_count') &&
      one.labels['statement'] === 'gateway.select_response_items',
  )
  return count?.value ?? 0
}

describe('a second turn by reference', () => {
  for (const name of MODELS) {
    test(`${name} is told what it said, streamed and whole`, async () => {
      for (const stream of [true, false]) {
        const prompt = `Say it again: orchid ${name} ${stream} [[sandbox:echo]]`
        const first = await me.respond({ model: name, input: [say(prompt)], stream })
        const said = textOf(first)
        assert.match(said, /orchid/)
        const messages = first.output.filter(({ type }) => type === 'message')
        const input = [say('Hello'), ...refer(messages), say('And now?')]
        const second = await me.respond({ model: name, input, stream })
        assert.notEqual(textOf(second), '')
        assert.ok(lastAsked(service).includes(said), lastAsked(service))
      }
    })
  }

  test('counts what is referred to in the hold and in the price', async () => {
    const first = await me.respond({ model, input: 'Talk. [[sandbox:tokens=2000]]' })
    const short = await me.respond({ model, input: [say('Go on')] })
    const long = await me.respond({ model, input: [...refer(first.output), say('Go on')] })
    assert.ok(long.usage.input_tokens > short.usage.input_tokens + 1_900)
    const path = '/v1/responses/input_tokens'
    const counted = await me.post({ model, input: refer(first.output) }, { path })
    assert.equal(counted.statusCode, 200, counted.body)
    assert.ok(counted.json().input_tokens > 1_000, counted.body)
    assert.equal(counted.json().object, 'response.input_tokens')
    const limits = { spend_limit_credits: 20_000, spend_limit_period: 'day' }
    const { key } = await service.createKey(me.bearer, limits)
    const headers = { authorization: `Bearer ${key}` }
    const opus = { model: 'anthropic/claude-opus-4', max_output_tokens: 16 }
    const affordable = await me.post({ ...opus, input: [say('Go on')] }, { headers })
    assert.equal(affordable.statusCode, 200, affordable.body)
    const dear = { ...opus, input: [...refer(first.output), say('Go on')] }
    assert.equal((await me.post(dear, { headers })).statusCode, 402)
  })

  test('asks the database once, however many items it refers to', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => me.respond({ model, input: 'Hello' })))
    const items = answers.flatMap(({ output }) => output)
    const before = await queries()
    const input = Array.from({ length: 1_000 }, () => refer(items))
      .flat()
      .slice(0, 1_000)
    await me.respond({ model, input })
    assert.equal((await queries()) - before, 1)
  })

  test('of a call with a key says the same ids again when it is replayed', async () => {
    for (const name of [model, 'gpt-5-mini']) {
      for (const stream of [true, false]) {
        const headers = { 'idempotency-key': `twice-${name}-${stream}` }
        const body = { model: name, input: 'Hello', stream }
        const first = await me.respond(body, headers)
        service.clock.advance(5_000)
        const again = await me.respond(body, headers)
        assert.deepEqual(again, first)
        await me.respond({ model: name, input: [...refer(again.output), say('Go on')] })
      }
    }
  })
})

describe('a reference that leads nowhere', () => {
  const wording = (message: string) => message.replaceAll(/"[^"]*"/g, '"…"')

  test('is refused in the same words for an item of another, of another app, expired or invented', async () => {
    const other = await addResponder(service)
    const { output } = await other.respond({ model, input: 'Hello' })
    const answer = await me.respond({ model, input: 'Hello' })
    const [mine] = answer.output
    assert.ok(mine)
    const invented = `msg_${'0'.repeat(26)}`
    const today = `${mine.id.slice(0, 7)}${'x'.repeat(23)}`
    const found = []
    const ids = [String(output[0]?.id), invented, today, 'msg_1', '', answer.id, 'fc_x']
    for (const id of ids) {
      const error = await me.refusal({ model, input: [{ type: 'item_reference', id }, say('?')] })
      assert.equal(error.param, 'input[0]')
      assert.match(String(error.hint), /store/)
      assert.ok(error.message.includes(JSON.stringify(id)))
      found.push(wording(error.message))
    }
    await sql(service.database_url, `update response_item set sealed = set_byte(sealed, 20, 7)`)
    const broken = await me.refusal({ model, input: refer([mine]) })
    found.push(wording(broken.message))
    const fresh = await me.respond({ model, input: 'Hello' })
    service.clock.advance(9 * DAY_MS)
    const expired = await me.refusal({ model, input: refer(fresh.output) })
    found.push(wording(expired.message))
    assert.equal(new Set(found).size, 1, found.join('\n'))
  })

  test('is refused before the database is asked where there are more than a thousand', async () => {
    const before = await queries()
    const input = Array.from({ length: 5_000 }, (_, index) => ({
      type: 'item_reference',
      id: `msg_${String(index).padStart(26, '0')}`,
    }))
    const error = await me.refusal({ model, input })
    assert.match(error.message, /more than 1000 items/)
    assert.equal(await queries(), before)
  })

  test('costs one query where there are a thousand', async () => {
    const [mine] = (await me.respond({ model, input: 'Hello' })).output
    const before = await queries()
    const input = Array.from({ length: 1_000 }, (_, index) => ({
      type: 'item_reference',
      id: `${mine?.id.slice(0, 7)}${String(index).padStart(23, '0')}`,
    }))
    await me.refusal({ model, input })
    assert.equal((await queries()) - before, 1)
  })

  test('is what is left of an answer that was not to be stored', async () => {
    const { output, store } = await me.respond({ model, input: 'Hello', store: false })
    assert.equal(store, false)
    await me.refusal({ model, input: refer(output) })
  })

  test('is what is left of an answer that is too large to keep', async () => {
    const [small, large] = [newItem('orchid'), newItem('orchid'.repeat(50_000))]
    await service.parts.response_items.keep(own, () => [small])
    await service.parts.response_items.keep(own, () => [large])
    await me.respond({ model, input: [...refer([small]), say('Go on')] })
    await me.refusal({ model, input: refer([large]) })
  })
})

test('an item with a provider’s id is found, also where that id looks like one of ours', async () => {
  for (const start of ['000', 'zzz', '']) {
    const id = `msg_${start}${'x'.repeat(23)}`
    const item = { ...newItem(`orchid ${start}`), id }
    await service.parts.response_items.keep(own, () => [item])
    await me.respond({ model, input: [...refer([item]), say('Go on')] })
    assert.match(lastAsked(service), new RegExp(`orchid ${start}`))
  }
})

describe('a thought that is sent without its content', () => {
  const thinker = 'anthropic/claude-sonnet-4'
  const asked = { model: thinker, reasoning: { effort: 'low' } }
  const think = async () => {
    const { output } = await me.respond({ ...asked, input: 'Go [[sandbox:reasoning=50]]' })
    const thought = output.find(({ type }) => type === 'reasoning')
    assert.ok(thought && thought.encrypted_content === undefined)
    return { output, thought }
  }
  const signatures = () => [...lastAsked(service).matchAll(/"signature":"/g)].length

  test('is found by its id, for whoever was answered only', async () => {
    const { output } = await think()
    const other = await addResponder(service)
    const body = { ...asked, input: [say('Hello'), ...output, say('And now?')] }
    await me.respond(body)
    assert.equal(signatures(), 1, lastAsked(service))
    await other.respond(body)
    assert.equal(signatures(), 0, lastAsked(service))
  })

  test('is left out where its id is invented, expired, of a message or no text', async () => {
    const { output, thought } = await think()
    const [message] = output.filter(({ type }) => type === 'message')
    const ids = [`rs_${'0'.repeat(26)}`, 'rs_1', '', message?.id, 7, null, undefined]
    for (const [index, id] of ids.entries()) {
      await me.respond({ ...asked, input: [{ ...thought, id }, say(`And now ${index}?`)] })
      assert.match(lastAsked(service), new RegExp(`And now ${index}`))
      assert.doesNotMatch(lastAsked(service), /"assistant"/)
    }
    const late = await think()
    service.clock.advance(9 * DAY_MS)
    await me.respond({ ...asked, input: [...late.output, say('And now?')] })
    assert.equal(signatures(), 0, lastAsked(service))
  })

  test('costs one query with all others, and is looked for among the latest thousand', async () => {
    const { output, thought } = await think()
    const stranger = { type: 'reasoning', summary: [], id: thought.id.replace(/.{3}$/, '000') }
    const before = await queries()
    const strangers = Array.from({ length: 1_500 }, () => stranger)
    await me.respond({ ...asked, input: [say('Hi'), ...strangers, ...output, say('And now?')] })
    assert.equal((await queries()) - before, 1)
    assert.equal(signatures(), 1, lastAsked(service))
    await me.respond({ ...asked, input: [say('Hi'), ...output, ...strangers, say('And now?')] })
    assert.equal(signatures(), 0)
  })
})

test('an item of a user’s app is not found by the user’s own key, nor by another app', async () => {
  const item = newItem('orchid')
  const items = service.parts.response_items
  await items.keep({ ...own, client_id: 'app_one' }, () => [item])
  const body = { model, input: refer([item]) }
  await assert.rejects(items.resolve(own, body), /not kept here/)
  await assert.rejects(items.resolve({ ...own, client_id: 'app_two' }, body), /not kept here/)
  assert.deepEqual(await items.resolve({ ...own, client_id: 'app_one' }, body), {
    model,
    input: [item],
  })
})

test('the database alone holds nothing that can be read', async () => {
  const { output } = await me.respond({ model, input: 'A secret orchid [[sandbox:echo]]' })
  const rows = await sql<{ row: string }>(
    service.database_url,
    `select encode(sealed, 'escape') || encode(id_digest, 'escape') as row from response_item`,
  )
  assert.ok(rows.length > 0)
  assert.ok(
    rows.every(({ row }) => !row.includes('orchid') && !row.includes(String(output[0]?.id))),
  )
})

test('days that are over are dropped whole', async () => {
  await me.respond({ model, input: 'Hello' })
  const days = () =>
    sql<{ day: string }>(
      service.database_url,
      `select relname as day from pg_class where relname ~ '^response_item_y.*[0-9]$' order by 1`,
    )
  const before = await days()
  service.clock.advance(30 * DAY_MS)
  await service.parts.response_items.keepPartitions()
  const after = await days()
  assert.equal(after.length, 3)
  assert.ok(before.every(({ day }) => !after.some((one) => one.day === day)))
})

test('a reply does not fail because its items cannot be kept', async () => {
  await sql(service.database_url, 'alter table response_item rename to response_item_away')
  try {
    const { status } = await me.respond({ model, input: 'Hello' })
    assert.equal(status, 'completed')
    const streamed = await me.respond({ model, input: 'Hello', stream: true })
    assert.equal(streamed.status, 'completed')
    assert.ok(service.log_lines.some((line) => line.includes('items of a response were not kept')))
    const { values } = await service.parts.metrics.response_items.get()
    assert.equal(values.find(({ labels }) => labels.outcome === 'failed')?.value, 2)
  } finally {
    await sql(service.database_url, 'alter table response_item_away rename to response_item')
  }
})
