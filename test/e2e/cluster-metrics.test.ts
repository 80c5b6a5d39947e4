// WORKERS=3: whichever process is asked for metrics, the answer is the sum of all of them, and a sum never falls.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  createKey,
  isListening,
  makeFolder,
  openSocket,
  register,
  type ServerProcess,
  type Settings,
  SLOW_SERVER,
  startServer,
} from '../support/service.ts'

const CHILDREN = 3
const CALLS = 9
const LOOKS = 30

async function startFleet(settings: Settings = {}) {
  const server = await startServer(
    {
      DATABASE_URL: await createDatabase(),
      DATA_DIR: path.join(makeFolder(), 'data'),
      WORKERS: String(CHILDREN),
      DRAIN_MS: '200',
      ...settings,
    },
    { entry: SLOW_SERVER },
  )
  const parent_url = server.stdout().match(/listening at (http[^",]+), not ready yet/)?.[1] ?? ''
  assert.notEqual(parent_url, '')
  return { ...server, parent_url }
}

type Sample = { name: string; labels: string; value: number }

async function readMetrics(url: string): Promise<Sample[]> {
  const reply = await call(url, '/metrics')
  assert.equal(reply.status, 200, reply.text)
  assert.match(String(reply.headers['content-type']), /^text\/plain; version=0\.0\.4/)
  return reply.text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] =
        /^([a-z_]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? []
      return { name, labels, value: Number(value) }
    })
}

/** Once every child has answered: on a busy machine one may be late. */
async function readComplete(url: string): Promise<Sample[]> {
  let samples: Sample[] = []
  await eventually('every child answers', async () => {
    samples = await readMetrics(url)
    return sum(samples, 'svc_cluster_children', 'silent') === 0
  })
  return samples
}

/** Over every sample of that name whose labels contain the text. */
function sum(samples: readonly Sample[], name: string, label = ''): number {
  const found = samples.filter((sample) => sample.name === name && sample.labels.includes(label))
  return found.reduce((total, { value }) => total + value, 0)
}

function callsAndLooks(samples: readonly Sample[]) {
  return {
    calls: sum(samples, 'svc_gateway_calls_total', 'outcome="complete"'),
    settles: sum(samples, 'svc_ledger_settles_total', 'state="settled"'),
    looks: sum(samples, 'svc_http_request_seconds_count', 'route="/test/pid"'),
    looks_in_buckets: sum(
      samples.filter(({ labels }) => labels.includes('le="+Inf"')),
      'svc_http_request_seconds_bucket',
      'route="/test/pid"',
    ),
  }
}

const made = { calls: CALLS, settles: CALLS, looks: LOOKS, looks_in_buckets: LOOKS }

/** On new connections, which go to the children in turn. Answers who served. */
async function makeTraffic({ url }: ServerProcess): Promise<number[]> {
  const { token } = await register(url)
  const { key } = await createKey(url, token)
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] }
  for (let i = 0; i < CALLS; i += 1) {
    const reply = await call(url, '/v1/chat/completions', { body, bearer: key })
    assert.equal(reply.status, 200, reply.text)
  }
  const pids = new Set<number>()
  for (let i = 0; i < LOOKS; i += 1) {
    pids.add((await call(url, '/test/pid')).json<{ pid: number }>().pid)
  }
  return [...pids]
}

const fleet = await startFleet()
const pids = await makeTraffic(fleet)

test('the parent and every child answer with the same sums, which equal the calls that were made', async () => {
  assert.equal(pids.length, CHILDREN)
  const asked = [fleet.parent_url, ...Array.from({ length: CHILDREN }, () => fleet.url)]
  for (const url of asked) assert.deepEqual(callsAndLooks(await readComplete(url)), made)
})

test('the sums hold what the parent does in the background, and flags stay flags', async () => {
  await eventually('the parent has worked', async () => {
    const samples = await readMetrics(fleet.parent_url)
    return sum(samples, 'svc_job_seconds_count', 'job="accounts.send_mail"') > 0
  })
  const samples = await readComplete(fleet.parent_url)
  assert.equal(sum(samples, 'svc_credential_cache_trusted'), 1)
  assert.equal(sum(samples, 'svc_ledger_lease_live'), 1)
  assert.equal(sum(samples, 'svc_rate_limit_shared'), 0)
  assert.equal(sum(samples, 'nodejs_version_info'), 1)
  assert.equal(sum(samples, 'svc_cluster_children', 'answered'), CHILDREN)
  assert.equal(sum(samples, 'svc_cluster_children', 'silent'), 0)
  assert.ok(sum(samples, 'svc_db_connections') >= CHILDREN)
})

test('many who ask at once all get the sums', async () => {
  const urls = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? fleet.url : fleet.parent_url))
  for (const samples of await Promise.all(urls.map(readMetrics))) {
    assert.deepEqual(callsAndLooks(samples), made)
  }
})

test('a child that does not answer is counted and keeps nobody waiting; its counters stand', async (t) => {
  const [frozen = 0] = pids
  process.kill(frozen, 'SIGSTOP')
  t.after(() => process.kill(frozen, 'SIGCONT'))
  const asked_at = performance.now()
  const samples = await readMetrics(fleet.parent_url)
  const took_ms = performance.now() - asked_at
  assert.ok(took_ms < 3_000, `${took_ms} ms`)
  assert.equal(sum(samples, 'svc_cluster_children', 'answered'), CHILDREN - 1)
  assert.equal(sum(samples, 'svc_cluster_children', 'silent'), 1)
  assert.deepEqual(callsAndLooks(samples), made)
  process.kill(frozen, 'SIGCONT')
  const again = await readComplete(fleet.parent_url)
  assert.equal(sum(again, 'svc_cluster_children', 'answered'), CHILDREN)
  t.diagnostic(`answered without the child after ${Math.round(took_ms)} ms`)
})

test('the sums outlive the children that made them: killed or replaced', async () => {
  const [victim = 0] = pids
  process.kill(victim, 'SIGKILL')
  const children = async () =>
    sum(await readMetrics(fleet.parent_url), 'svc_cluster_children', 'answered')
  await eventually('it is missed', async () => (await children()) < CHILDREN)
  assert.deepEqual(callsAndLooks(await readMetrics(fleet.parent_url)), made)
  await eventually('it is replaced', async () => (await children()) === CHILDREN, 20_000)
  // Since the last scrape: what a child counted then is known to nobody else.
  const last = (await call(fleet.url, '/test/pid')).json<{ pid: number }>().pid
  fleet.signal('SIGHUP')
  const isReplaced = () => fleet.logs().some((line) => line.msg === 'every child was replaced')
  await eventually('all are replaced', isReplaced, 60_000)
  assert.notEqual((await call(fleet.url, '/test/pid')).json<{ pid: number }>().pid, last)
  const looks = LOOKS + 2
  for (const url of [fleet.parent_url, fleet.url]) {
    assert.deepEqual(callsAndLooks(await readComplete(url)), {
      ...made,
      looks,
      looks_in_buckets: looks,
    })
  }
})

test('the parent says 503 while its children drain, and its port closes after theirs', async (t) => {
  assert.equal((await call(fleet.parent_url, '/ready')).status, 200)
  const stream = await openSocket(fleet.port)
  stream.write('GET /test/stream?ms=1500 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await eventually('the stream runs', () => stream.received().includes('data: 1'))
  fleet.signal('SIGTERM')
  t.after(() => fleet.kill())
  const ready = async () => (await call(fleet.parent_url, '/ready')).status
  await eventually('it drains', async () => (await ready()) === 503, 1_000)
  await eventually('the public port closes', async () => !(await isListening(fleet.port)))
  assert.equal(await ready(), 503)
  assert.deepEqual(callsAndLooks(await readMetrics(fleet.parent_url)).calls, CALLS)
  const ended = await fleet.end()
  assert.deepEqual([ended.code, ended.signal], [0, null], fleet.output())
  assert.match(stream.received(), /\[DONE\]/)
  assert.equal(await isListening(Number(new URL(fleet.parent_url).port)), false)
})

test('with ROLE=api the parent has probes and sums too, though it does nothing else', async (t) => {
  const api = await startFleet({ ROLE: 'api', WORKERS: '2' })
  t.after(() => api.kill())
  await makeTraffic(api)
  const health = (await call(api.parent_url, '/health')).json()
  assert.deepEqual(health, { status: 'ok', phase: 'ready', database: 'ok' })
  assert.equal((await call(api.parent_url, '/ready')).status, 200)
  for (const url of [api.parent_url, api.url]) {
    const samples = await readComplete(url)
    assert.deepEqual(callsAndLooks(samples), made)
    assert.equal(sum(samples, 'svc_credential_cache_trusted'), 1)
    assert.equal(sum(samples, 'svc_ledger_lease_live'), 1)
  }
  assert.equal((await api.stop()).code, 0)
})
