// What authentication, limits, headers, metrics and the log line cost: CPU time per request of GET /v1/key
// beside a bare Fastify route that sends the same JSON, in one run, taking turns. `npm run bench:http`

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { migrate } from '../src/platform/migrate.ts'
import { digestSecret, mintApiKey, mintId } from '../src/platform/tokens.ts'

const ROUNDS = 15
const REQUESTS_PER_ROUND = 5_000
const WARM_UP_REQUESTS = 10_000
const CONNECTIONS = 32
const MANY_KEYS = 100_000

type Server = { child: ChildProcess; url: string }
type Measure = { cpu_us: number; per_second: number }

const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const postgres = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
const servers: Server[] = []
try {
  await migrate(postgres.url)
  const database = new Client({ connectionString: postgres.url })
  await database.connect()
  const account_id = await insertAccount(database)
  const key = mintApiKey()
  await insertKeys(database, account_id, [key])

  const bare = await startServer('bare')
  const service = await startServer('service', postgres.url)
  const [alone, few] = await compare(bare, service, key)
  await insertKeys(database, account_id, Array.from({ length: MANY_KEYS }, mintApiKey))
  await database.query('analyze api_key')
  const [again, many] = await compare(bare, service, key)
  await database.end()

  print(`${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`)
  print(`best of ${ROUNDS} rounds of ${REQUESTS_PER_ROUND} requests, ${CONNECTIONS} connections\n`)
  row('bare Fastify route', alone)
  row('GET /v1/key, 1 key in the table', few, alone)
  row('bare Fastify route, again', again)
  row(`GET /v1/key, ${MANY_KEYS + 1} keys in the table`, many, again)
} finally {
  for (const { child } of servers) child.disconnect()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function compare(bare: Server, service: Server, key: string): Promise<[Measure, Measure]> {
  const rounds: [Measure, Measure][] = []
  for (const server of [bare, service]) await load(server, key, WARM_UP_REQUESTS)
  for (let i = 0; i < ROUNDS; i++) {
    rounds.push([
      await load(bare, key, REQUESTS_PER_ROUND),
      await load(service, key, REQUESTS_PER_ROUND),
    ])
  }
  return [best(rounds.map(([first]) => first)), best(rounds.map(([, second]) => second))]
}

async function load(server: Server, key: string, requests: number): Promise<Measure> {
  const before = await cpuOf(server)
  const started = performance.now()
  let left = requests
  const caller = async () => {
    while (left-- > 0) {
      const reply = await fetch(`${server.url}/v1/key`, { headers: { 'x-api-key': key } })
      if (reply.status !== 200) throw new Error(`answered ${reply.status}`)
      await reply.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, caller))
  const seconds = (performance.now() - started) / 1000
  const after = await cpuOf(server)
  return { cpu_us: (after - before) / requests, per_second: requests / seconds }
}

async function cpuOf(server: Server): Promise<number> {
  server.child.send('cpu')
  const [usage] = (await once(server.child, 'message')) as [NodeJS.CpuUsage]
  return usage.user + usage.system
}

async function startServer(kind: string, url = ''): Promise<Server> {
  const child = fork(fileURLToPath(new URL('http-server.ts', import.meta.url)), [kind, url])
  const [address] = (await once(child, 'message')) as [string]
  const server = { child, url: address }
  servers.push(server)
  return server
}

async function insertAccount(database: Client): Promise<string> {
  const id = mintId()
  await database.query(
    `insert into account (id, email, email_key, password_hash, created_at) values ($1, 'b', 'b', '', now())`,
    [id],
  )
  return id
}

async function insertKeys(database: Client, account_id: string, keys: string[]): Promise<void> {
  await database.query(
    `insert into api_key (id, account_id, token_digest, name, billing_mode, prefix, created_at, rate_limit_per_minute)
     select id, $1, digest, 'bench', 'developer', 'sk-svc-bench', now(), 1000000
     from unnest($2::uuid[], $3::bytea[]) as made (id, digest)`,
    [account_id, keys.map(() => mintId()), keys.map(digestSecret)],
  )
}

/** On a shared machine a disturbed round costs more CPU too; the least disturbed one says what the code costs. */
function best(measures: Measure[]): Measure {
  return {
    cpu_us: Math.min(...measures.map((one) => one.cpu_us)),
    per_second: Math.max(...measures.map((one) => one.per_second)),
  }
}

function row(name: string, measure: Measure, base?: Measure): void {
  const ratio = base ? `${(measure.cpu_us / base.cpu_us).toFixed(2)} times the bare route` : ''
  print(
    `${name.padEnd(40)} ${measure.cpu_us.toFixed(1).padStart(7)} µs CPU a request  ${measure.per_second.toFixed(0).padStart(6)}/s  ${ratio}`,
  )
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
