import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { loadConfig } from './config.ts'
import { mintSecretKey } from './platform/secret-box.ts'
import { readSecretKeys, readSecretsKey } from './secrets-key.ts'

const DATABASE_URL = 'postgres://db.example/svc'

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'svc-key-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return path.join(made, 'data')
}

test('SECRETS_KEY is taken, and nothing is written', (t) => {
  const [DATA_DIR, key] = [folder(t), mintSecretKey()]
  const config = loadConfig({ DATA_DIR, DATABASE_URL, SVC_MODE: 'live', SECRETS_KEY: `a:${key}` })
  assert.deepEqual(
    readSecretKeys(config).map(({ id }) => id),
    ['a'],
  )
  assert.throws(() => statSync(DATA_DIR), /ENOENT/)
})

test('without SECRETS_KEY one is made in DATA_DIR for its owner only, and stays', (t) => {
  const DATA_DIR = folder(t)
  const config = loadConfig({ DATA_DIR })
  const made = readSecretsKey(config)
  assert.equal(Buffer.from(made, 'base64').length, 32)
  assert.equal(readSecretsKey(config), made)
  assert.deepEqual(readdirSync(DATA_DIR), ['secrets-key'])
  assert.equal(statSync(path.join(DATA_DIR, 'secrets-key')).mode & 0o777, 0o600)
})

test('in live mode an external database needs SECRETS_KEY, because machines share it', (t) => {
  const DATA_DIR = folder(t)
  const read = (env: Record<string, string>) => readSecretKeys(loadConfig({ DATA_DIR, ...env }))
  assert.throws(
    () => read({ SVC_MODE: 'live', DATABASE_URL }),
    /SECRETS_KEY is needed in live mode with DATABASE_URL/,
  )
  assert.equal(read({ SVC_MODE: 'live' }).length, 1)
  assert.equal(read({ DATABASE_URL }).length, 1)
})

test('a SECRETS_KEY that is no key stops the start without being shown', () => {
  assert.throws(() => loadConfig({ SECRETS_KEY: 'hunter2' }), /SECRETS_KEY=\(hidden\)/)
})

test('a file that holds no key is not replaced', (t) => {
  const DATA_DIR = folder(t)
  const config = loadConfig({ DATA_DIR })
  readSecretsKey(config)
  writeFileSync(path.join(DATA_DIR, 'secrets-key'), 'damaged\n')
  assert.throws(() => readSecretKeys(config), /does not hold a key: put it back from a backup/)
})

test('processes that start together get the same key', async (t) => {
  const DATA_DIR = folder(t)
  const program = path.join(path.dirname(DATA_DIR), 'read-key.ts')
  const source = new URL('./secrets-key.ts', import.meta.url)
  writeFileSync(
    program,
    `import { readSecretsKey } from ${JSON.stringify(source)}
     process.once('message', (DATA_DIR) => process.send({ key: readSecretsKey({ DATA_DIR }) }, () => process.exit()))
     process.send({ ready: true })`,
  )
  const children = Array.from({ length: 4 }, () => fork(program, { execArgv: [] }))
  await Promise.all(children.map((child) => once(child, 'message')))
  const told = children.map((child) => once(child, 'message'))
  for (const child of children) child.send(DATA_DIR)
  const keys = (await Promise.all(told)).map(([message]: { key?: string }[]) => message?.key)
  assert.equal(new Set(keys).size, 1)
  assert.equal(keys[0], readSecretsKey(loadConfig({ DATA_DIR })))
  assert.deepEqual(readdirSync(DATA_DIR), ['secrets-key'])
})
