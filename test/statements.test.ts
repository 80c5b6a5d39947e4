// Prepares every registered statement on the migrated schema: a renamed column fails here, in a second.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { registeredStatements } from '../src/platform/db.ts'
import { createDatabase } from './support/database.ts'

test('every registered statement fits the schema', async () => {
  for (const file of globSync('src/**/*.ts')) {
    if (file.endsWith('.test.ts') || file.includes(`${path.sep}bin${path.sep}`)) continue
    await import(pathToFileURL(file).href)
  }
  const statements = registeredStatements()
  assert.ok(statements.length > 20)
  const client = new Client({ connectionString: await createDatabase() })
  await client.connect()
  try {
    for (const [index, statement] of statements.entries()) {
      await client.query(`prepare s${index} as ${statement.text}`).catch((error: unknown) => {
        throw new Error(`${statement.name}: ${String(error)}`)
      })
    }
  } finally {
    await client.end()
  }
})
