// docs/billing.md names what each model does when a client leaves; the catalog is what happens.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { loadCatalog } from '../../src/catalog/catalog.ts'

const page = readFileSync('docs/billing.md', 'utf8')

test('docs/billing.md has the disconnect policy of every chat model, as the catalog has it', () => {
  const table = page.slice(page.indexOf('| Model |'))
  const rows = table.split('\n').filter((line) => line.startsWith('| `'))
  const documented = new Map(
    rows.flatMap((row) => {
      const [, models = '', policy = ''] = row.split('|')
      const word = /`(cancel|drain)`/.exec(policy)?.[1] ?? ''
      return [...models.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, word] as const)
    }),
  )
  const chat = loadCatalog({ file: undefined, fee_bps: 0 })
    .list()
    .filter((model) => model.kind === 'chat')
  assert.deepEqual(
    Object.fromEntries(documented),
    Object.fromEntries(chat.map((model) => [model.name, model.on_disconnect])),
  )
})
