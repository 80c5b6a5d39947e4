import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { makeFolder, runToEnd, SERVER, startServer } from '../support/service.ts'

const DATABASE_URL = 'postgres://127.0.0.1:1/none'

test('live mode with an external database does not start without SECRETS_KEY, in one line', async () => {
  for (const more of [{}, { WORKERS: '2' }, { ROLE: 'worker' }]) {
    const settings = { DATA_DIR: makeFolder(), ...LIVE_SETTINGS, DATABASE_URL, ...more }
    const { code, stderr } = await runToEnd([process.execPath, SERVER], settings)
    assert.equal(code, 1)
    assert.match(stderr, /^svc: SECRETS_KEY is needed in live mode with DATABASE_URL.*\n$/)
    assert.equal(existsSync(path.join(settings.DATA_DIR, 'secrets-key')), false)
  }
})

test('children of one machine share the key that was made in its DATA_DIR, also in live mode', async () => {
  const DATA_DIR = makeFolder()
  const service = await startServer({ DATA_DIR, ...LIVE_SETTINGS, WORKERS: '2' })
  assert.equal(existsSync(path.join(DATA_DIR, 'secrets-key')), true)
  assert.equal((await service.stop()).code, 0)
})
