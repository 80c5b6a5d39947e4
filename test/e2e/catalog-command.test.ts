// `svc catalog …`, as an operator types it.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { startModelLists } from '../support/model-lists.ts'
import { COMMAND_LINE, makeFolder, runToEnd, startServer } from '../support/service.ts'

const DATA_DIR = path.join(makeFolder(), 'data')

function svc(settings: Record<string, string>, ...args: string[]) {
  return runToEnd([process.execPath, COMMAND_LINE, 'catalog', ...args], { DATA_DIR, ...settings })
}

/** The cells of a model's line. */
function cellsOf(stdout: string, name: string): string[] {
  const line = stdout.split('\n').find((candidate) => candidate.startsWith(`${name} `)) ?? ''
  return line.split(/\s{2,}/)
}

const LIVE = { SVC_MODE: 'live', OPENAI_API_KEY: 'sk-test' }
const SUCCESSORS = ['gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-6-luna']
const EMBEDDING = ['text-embedding-3-small', 'text-embedding-3-large', 'text-embedding-ada-002']
const LISTED = [...EMBEDDING, 'gpt-4o', 'gpt-4o-mini', 'gpt-5', 'gpt-5-mini', ...SUCCESSORS]

async function listModels(ids: readonly string[], status = 200) {
  const body = { object: 'list', data: ids.map((id) => ({ id, shutdown_date: null })) }
  const { url } = await startModelLists(() => ({ status, body }))
  return { ...LIVE, OPENAI_BASE_URL: url }
}

test('svc catalog show says what serves each name, at which price, and until when', async () => {
  const { code, stdout } = await svc({}, 'show')
  assert.equal(code, 0)
  assert.match(stdout, /^NAME +SERVED BY +INPUT +CACHED +OUTPUT +RETIRES ON +THEN\n/)
  const line = ['gpt-4', 'gpt-4', '$30', '$30', '$60', '2026-10-23']
  assert.deepEqual(cellsOf(stdout, 'gpt-4'), line)
  assert.equal(cellsOf(stdout, 'text-embedding-3-small')[2], '$0.02')
  assert.deepEqual(cellsOf(stdout, 'elevenlabs/scribe_v2').slice(2, 3), ['$0.22 per hour'])
  // Its day has passed for good.
  const live = await svc({ SVC_MODE: 'live', SERVICE_FEE_PERCENT: '10' }, 'show')
  const served = ['gpt-4', 'gpt-5.6-sol', '$5.5', '$0.55', '$33', '2026-10-23']
  assert.deepEqual(cellsOf(live.stdout, 'gpt-4'), served)
  const refused = await svc({ SVC_MODE: 'live', MODEL_SUCCESSORS: 'off' }, 'show')
  assert.match(cellsOf(refused.stdout, 'gpt-4')[1] ?? '', /^nobody/)
})

test('svc catalog check exits with 0, with 1 if something is gone, with 2 if a list cannot be read', async () => {
  const all = await svc(await listModels(LISTED), 'check')
  assert.equal(all.code, 0, all.stdout + all.stderr)
  assert.match(all.stdout, /^openai: 10 models compared\n/)
  assert.match(all.stdout, /\nanthropic: not asked, there is no credential\n/)
  const some = await svc(await listModels(LISTED.slice(0, -2)), 'check')
  assert.equal(some.code, 1)
  assert.match(some.stdout, /\n {2}GONE {6}gpt-3\.5-turbo: openai does not list gpt-5\.6-terra/)
  const unread = await svc(await listModels([], 401), 'check')
  assert.equal(unread.code, 2)
  assert.match(unread.stdout, /^openai: the answer is 401\n/)
})

test('beside a service in sandbox mode its stand-ins are asked, and have every model', async (t) => {
  const server = await startServer({ DATA_DIR })
  t.after(() => server.kill())
  const { code, stdout } = await svc({}, 'check')
  assert.equal(code, 0, stdout)
  assert.deepEqual(stdout.trim().split('\n').sort(), [
    'anthropic: 3 models compared',
    'google: 4 models compared',
    'openai: 10 models compared',
  ])
})

test('svc catalog --help says how, and anything else is refused with the same', async () => {
  const help = await svc({}, '--help')
  assert.equal(help.code, 0)
  assert.match(help.stdout, /^svc catalog show\n/)
  const wrong = await svc({}, 'list')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /svc catalog check\n/)
})
