// `svc …`, beside a running service and without one, and the two commands a newcomer types.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import package_json from '../../package.json' with { type: 'json' }
import { eventually } from '../support/eventually.ts'
import {
  COMMAND_LINE,
  call,
  childrenOf,
  createKey,
  isAlive,
  isListening,
  makeFolder,
  postmasterOf,
  ROOT,
  register,
  runToEnd,
  startServer,
} from '../support/service.ts'

const data_dir = path.join(makeFolder(), 'data')
const settings = { DATA_DIR: data_dir }
const made = { key: '', id: '' }

function svc(...args: string[]) {
  return runToEnd([process.execPath, COMMAND_LINE, ...args], settings)
}

/** As on a machine where nothing of ours is installed: npm finds the project's Node by itself. */
function plainPath(): string {
  const folders = (process.env['PATH'] ?? '').split(':')
  return folders.filter((folder) => !folder.includes('node_modules')).join(':')
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
}

test('without a running service, svc migrate makes the database, and stops it again', async () => {
  const first = await svc('migrate')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^0001_accounts\.sql\n/)
  assert.equal(postmasterOf(data_dir), undefined)
})

test('npm start serves, and SIGTERM to npm stops the service and its database, and leaves nothing', async (t) => {
  const stamp = readFileSync(path.join(ROOT, 'node_modules/.svc-installed'), 'utf8')
  const lock = readFileSync(path.join(ROOT, 'package-lock.json'))
  const is_installed = stamp === createHash('sha256').update(lock).digest('hex')
  assert.ok(is_installed, 'packages are not installed: npm start would install them now')

  const PATH = plainPath()
  const npm = await startServer({ ...settings, PATH }, { command: ['npm', 'start'], cwd: ROOT })
  t.after(() => npm.kill())
  t.diagnostic(`npm start: ${Math.round(npm.started_ms)} ms`)
  const user = await register(npm.url)
  Object.assign(made, await createKey(npm.url, user.token))
  const processes = [...childrenOf(npm.pid), postmasterOf(data_dir) ?? 0]
  assert.ok(processes.every(isAlive))
  const commands = childrenOf(npm.pid).map(commandOf)
  const { node_flags } = package_json.config
  assert.ok(commands.some((command) => command.includes(` ${node_flags} src/bin/server.ts`)))

  await npm.stop()
  await eventually('everything ends', () => !processes.some(isAlive))
  assert.ok(npm.logs().some((line) => line.msg === 'stopped'))
  assert.equal(await isListening(npm.port), false)
  const log = readFileSync(path.join(data_dir, 'postgres.log'), 'utf8')
  assert.match(log, /database system is shut down\n$/)
})

test('beside a running service, svc works on the same database, and key-limit takes effect within a second', async (t) => {
  const server = await startServer(settings)
  t.after(() => server.kill())
  assert.equal((await svc('migrate')).stdout, 'nothing to apply\n')

  const limitOf = async () => {
    const reply = await call(server.url, '/v1/key', { bearer: made.key })
    return reply.headers['x-ratelimit-limit']
  }
  assert.equal(await limitOf(), '1000000')
  const changed = await svc('key-limit', made.id, '7')
  assert.equal(changed.code, 0, changed.stderr)
  assert.equal(changed.stdout, `key ${made.id} (test): 7 requests a minute\n`)
  await eventually('the limit holds', async () => (await limitOf()) === '7', 1_000)

  const through_npx = await runToEnd(
    ['npx', 'svc', 'key-limit', made.id, '8'],
    { ...settings, PATH: plainPath() },
    { cwd: ROOT },
  )
  assert.equal(through_npx.code, 0, through_npx.stderr)
  await eventually('the limit holds', async () => (await limitOf()) === '8', 1_000)

  assert.equal((await call(server.url, '/ready')).status, 200)
  await server.stop()
})

test('svc openapi prints the document without a database', async () => {
  const { code, stdout } = await svc('openapi')
  assert.equal(code, 0)
  const document = JSON.parse(stdout)
  assert.match(document.openapi, /^3\.1/)
  assert.ok(document.paths['/auth/register'])
})

test('every command explains itself, and a wrong one exits 2 with what to type instead', async () => {
  const overview = await svc('--help')
  assert.equal(overview.code, 0)
  const names = [...overview.stdout.matchAll(/^ {2}svc (\S+)/gm)].map((match) => match[1] ?? '')
  assert.ok(names.includes('serve') && names.includes('migrate') && names.includes('key-limit'))

  const helps = await Promise.all(names.map((name) => svc(name, '--help')))
  for (const [index, help] of helps.entries()) {
    assert.equal(help.code, 0)
    // The sandbox lists its options itself.
    assert.match(help.stdout, new RegExp(`^svc ${names[index]} |^svc ${names[index]}$|--help`, 'm'))
    assert.equal(help.stderr, '')
  }

  const wrong = [['no-such-command'], ['key-limit'], ['key-limit', made.id, 'many']]
  const refused = await Promise.all(wrong.map((args) => svc(...args)))
  for (const [index, { code, stderr }] of refused.entries()) {
    assert.equal(code, 2, `${wrong[index]?.join(' ')}: ${stderr}`)
    assert.match(stderr, /^svc: [\s\S]*usage:\s+svc/i)
    assert.doesNotMatch(stderr, /^\s+at /m)
  }
})

test('a key that does not exist is the caller’s mistake: one line, no stack', async () => {
  const unknown = await svc('key-limit', '00000000-0000-7000-8000-000000000000', '5')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /^svc: There is no key .*\n$/)
  assert.equal(postmasterOf(data_dir), undefined)
})
