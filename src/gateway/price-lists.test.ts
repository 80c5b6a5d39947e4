import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { loadCatalog } from '../catalog/catalog.ts'
import type { ChatModel } from '../catalog/models.ts'
import { systemClock } from '../platform/clock.ts'
import { PriceLists } from './price-lists.ts'

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

function chatModel(): ChatModel {
  const model = loadCatalog({ file: undefined, fee_bps: 0 }).find('gpt-4o')
  assert.ok(model?.kind === 'chat')
  return model
}

describe('the prices of a model', () => {
  it('are stored once, however many processes find them first', async () => {
    const model = chatModel()
    const found = await Promise.all(
      Array.from({ length: 8 }, () => new PriceLists(db, systemClock).find(model)),
    )
    assert.equal(new Set(found.map((priced) => JSON.stringify(priced))).size, 1)
    const rows = await sql<{ id: number; prices: { prices: { input: number } } }>(
      url,
      'select id, prices from price_list',
    )
    assert.equal(rows.length, 1)
    assert.deepEqual(found[0], { price_list_id: rows[0]?.id })
    assert.equal(rows[0]?.prices.prices.input, Number(model.prices.input))
  })

  it('that change are another list', async () => {
    const model = chatModel()
    const dearer = { ...model, prices: { ...model.prices, input: model.prices.input + 1n } }
    const lists = new PriceLists(db, systemClock)
    assert.notDeepEqual(await lists.find(model), await lists.find(dearer))
  })

  it('stand in the row itself when the database does not answer', async () => {
    const gone = openDb(url)
    await gone.close()
    const priced = await new PriceLists(gone, systemClock).find(chatModel())
    assert.ok('details' in priced)
  })
})
