// What this gateway costs beside a bare proxy and Portkey's, all before the same upstream that answers at once,
// in one run, taking turns. `npm run bench:gateway`, and with:
//   --seconds 1.5 --rounds 9 how long each turn takes, and how many there are
//   --only json              or stream, paced, payers, formats, audio: one of the six comparisons
//   --memory                 whether memory stays flat, instead; --requests 200000 of them
//   --profile <folder>       writes a CPU profile of this gateway's process

import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import package_json from '../package.json' with { type: 'json' }
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { migrate } from '../src/platform/migrate.ts'
import { makePayers, type Payers } from './gateway-accounts.ts'
import { measureAudio } from './gateway-audio.ts'
import { ask, bodyOf, CHUNKS, type Load, type Measure, run, runAtRate } from './gateway-load.ts'
import { checkMemory } from './gateway-memory.ts'
import { Servers, type Target } from './gateway-targets.ts'

const JSON_LOAD: Load = { stream: false, pace_ms: 0, callers: 128 }
/** Fewer share a batch of the ledger, and a turn of the event loop. */
const FEWER_LOAD: Load = { ...JSON_LOAD, callers: 32 }
const STREAM_LOAD: Load = { stream: true, pace_ms: 0, callers: 32 }
/** As a model writes: every chunk comes alone, and none waits for another. */
const PACED_LOAD: Load = { stream: true, pace_ms: 20, callers: 100 }
/** Until the compiler is done with it: a slow server would otherwise be measured colder than a fast one. */
const WARM_UP_REQUESTS = 50_000
const WARM_UP_STREAMS = 1_000

/** Those of `npm start`. */
const START_FLAGS = package_json.config.node_flags.split(' ')

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1.5' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string' },
    memory: { type: 'boolean', default: false },
    requests: { type: 'string', default: '200000' },
    profile: { type: 'string' },
  },
})
const seconds = Number(flags.seconds)
const rounds = Number(flags.rounds)

type Result = { target: Target; measures: Measure[] }

const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const postgres = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
const servers = new Servers()
try {
  await migrate(postgres.url)
  const payers = await makePayers(postgres.url)
  const targets = await startTargets(payers)
  print(
    `${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, load before the run ${loadavg()[0]?.toFixed(2)}`,
  )
  const service = targets.at(-1)
  if (flags.memory && service) await checkMemory(service, Number(flags.requests), print)
  else await compareAll(targets, payers)
} finally {
  await servers.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function startTargets(payers: Payers): Promise<Target[]> {
  const upstream = await servers.start('gateway-upstream.ts', [])
  const bare = await servers.start('gateway-server.ts', ['bare', upstream.url])
  const piped = await servers.start('gateway-server.ts', ['piped', upstream.url])
  const portkey = await servers.startPortkey()
  if (!portkey) print('@portkey-ai/gateway does not run here: left out')
  const profile = flags.profile ? ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`] : []
  const service = await servers.start(
    'gateway-server.ts',
    ['service', upstream.url, postgres.url],
    [...START_FLAGS, ...profile],
  )
  const common = { headers: { authorization: 'Bearer bench' }, postgres_pid: undefined }
  const custom_host = `${upstream.url}/v1`
  return [
    { ...common, name: 'direct', url: upstream.url, child: undefined },
    { ...common, name: 'bare proxy', ...bare },
    { ...common, name: 'bare, piped', ...piped },
    ...(portkey
      ? [{ ...common, name: 'Portkey', ...portkey, headers: toPortkey(custom_host) }]
      : []),
    {
      name: 'this gateway',
      ...service,
      headers: payers.developer,
      postgres_pid: postgres.pid,
    },
  ]
}

function toPortkey(custom_host: string): Record<string, string> {
  return {
    authorization: 'Bearer bench',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': custom_host,
  }
}

async function compareAll(targets: Target[], payers: Payers): Promise<void> {
  for (const target of targets) await checkAnswers(target)
  print(`median of ${rounds} rounds of ${seconds} s for each\n`)
  // Both of the bare ones pipe streams.
  const streaming = targets.filter(({ name }) => name !== 'bare, piped')
  const chosen = (name: string) => flags.only === undefined || flags.only === name
  if (chosen('json')) await compareJson(targets)
  if (chosen('stream')) {
    const title = `${CHUNKS}-chunk streams as fast as they come, ${STREAM_LOAD.callers} callers`
    printTable(title, await compare(streaming, STREAM_LOAD), CHUNKS)
  }
  if (chosen('paced')) {
    const title = `${CHUNKS}-chunk streams, a chunk each ${PACED_LOAD.pace_ms} ms, ${PACED_LOAD.callers} callers`
    printTable(title, await compare(streaming, PACED_LOAD), CHUNKS)
  }
  const service = targets.at(-1)
  if (service && chosen('payers')) await comparePayers(service, payers)
  if (service && chosen('formats')) await compareFormats(service)
  const [direct] = targets
  if (direct && service && chosen('audio')) await measureAudio({ direct, service }, print)
}

/** One gateway process: what it costs more when a user pays than when the developer does. */
async function comparePayers(service: Target, payers: Payers): Promise<void> {
  const targets = [
    { ...service, name: 'developer' },
    { ...service, name: 'token', headers: payers.token },
    { ...service, name: 'capped token', headers: payers.capped_token },
    { ...service, name: 'linked user', headers: payers.linked_user },
  ]
  for (const target of targets) await checkAnswers(target)
  const title = `JSON by who pays, ${JSON_LOAD.callers} callers; times the developer`
  printTable(title, await compare(targets, JSON_LOAD))
}

/** The same model and conversation in two formats: what it costs more to translate. */
async function compareFormats(service: Target): Promise<void> {
  const targets: Target[] = [
    { ...service, name: 'chat' },
    { ...service, name: 'responses', format: 'responses' },
  ]
  printTable(
    `JSON by format, ${FEWER_LOAD.callers} callers; times chat`,
    await compare(targets, FEWER_LOAD),
  )
  const title = `${CHUNKS}-chunk streams by format, ${STREAM_LOAD.callers} callers; times chat`
  printTable(title, await compare(targets, STREAM_LOAD), CHUNKS)
}

async function compareJson(targets: Target[]): Promise<void> {
  const results = await compare(targets, JSON_LOAD)
  printTable(`JSON, ${JSON_LOAD.callers} callers`, results)
  // All of them are warm by now.
  printTable(`JSON, ${FEWER_LOAD.callers} callers`, await compare(targets, FEWER_LOAD, 0))
  const service = results.at(-1)
  if (!service) return
  const half = middle(service.measures, perSecond) / 2
  await compareAtRate(targets, half, 'half of what this gateway can do')
  const rate = await findRate(service.target, half / 4)
  await compareAtRate(targets, rate, 'with this gateway the machine is half busy')
}

/** At which half of all cores are busy, with the callers, the upstream and the database on them. */
async function findRate(service: Target, first_guess: number): Promise<number> {
  let per_second = first_guess
  for (let tries = 0; tries < 5; tries++) {
    const { machine_busy } = await runAtRate(service, { ...JSON_LOAD, per_second }, 1)
    per_second *= 0.5 / machine_busy
  }
  return per_second
}

async function checkAnswers(target: Target): Promise<void> {
  const whole = await ask(target, bodyOf(JSON_LOAD))
  if (!whole.includes('"finish_reason":"stop"')) throw new Error(`${target.name}: ${whole}`)
  const streamed = await ask(target, bodyOf(STREAM_LOAD))
  const chunks = streamed.split('"chat.completion.chunk"').length - 1
  if (chunks !== CHUNKS || !streamed.includes('[DONE]')) {
    throw new Error(`${target.name} streamed ${chunks} chunks`)
  }
}

async function compare(
  targets: Target[],
  load: Load,
  warm_up = load.stream ? WARM_UP_STREAMS : WARM_UP_REQUESTS,
): Promise<Result[]> {
  const results = targets.map((target): Result => ({ target, measures: [] }))
  for (const { target } of results) {
    for (let done = 0; done < warm_up && load.pace_ms === 0; ) {
      done += (await run(target, load, 1)).requests
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (const { target, measures } of results) measures.push(await run(target, load, seconds))
  }
  return results
}

async function compareAtRate(targets: Target[], per_second: number, why: string): Promise<void> {
  const compared = targets.filter(({ name }) => name !== 'Portkey')
  const results = compared.map((target): Result => ({ target, measures: [] }))
  for (let round = 0; round < rounds; round++) {
    for (const { target, measures } of results) {
      measures.push(await runAtRate(target, { ...JSON_LOAD, per_second }, seconds))
    }
  }
  printTable(`JSON at ${per_second.toFixed(0)} requests/s: ${why}`, results)
}

function printTable(title: string, results: Result[], chunks?: number): void {
  // The first that has a process of its own: what the others are held against.
  const bare = results.find(({ target }) => target.child !== undefined)
  const names = ['CPU µs', 'times', 'PostgreSQL µs', 'requests/s', 'p50 ms', 'p99 ms']
  const head = ['', ...names, 'by round', 'RSS MB', 'busy %']
  const rows = results.map(({ target, measures }) => {
    const cpu_us = middle(measures, perRequest)
    const whole_ms = measures.flatMap((one) => one.whole_ms)
    const first_ms = measures.flatMap((one) => one.first_ms)
    const has_process = target.child !== undefined
    return [
      target.name,
      has_process ? cpu_us.toFixed(0) : '-',
      has_process && bare ? timesOf(measures, bare.measures).toFixed(2) : '-',
      target.postgres_pid === undefined
        ? '-'
        : middle(measures, (one) => one.postgres_cpu_us / one.requests).toFixed(0),
      middle(measures, perSecond).toFixed(0),
      quantile(whole_ms, 0.5).toFixed(1),
      quantile(whole_ms, 0.99).toFixed(1),
      middle(measures, (one) => quantile(one.whole_ms, 0.99)).toFixed(1),
      has_process ? ((measures.at(-1)?.rss_bytes ?? 0) / 1e6).toFixed(0) : '-',
      (middle(measures, (one) => one.machine_busy) * 100).toFixed(0),
      ...(chunks
        ? [has_process ? (cpu_us / chunks).toFixed(1) : '-', quantile(first_ms, 0.5).toFixed(1)]
        : []),
    ]
  })
  print(title)
  for (const row of [chunks ? [...head, 'µs/chunk', 'first ms'] : head, ...rows]) {
    print(row.map((cell, at) => (at === 0 ? cell.padEnd(14) : cell.padStart(13))).join(' '))
  }
  print('')
}

/** Round by round: what slows the machine down for a while slows both down. */
function timesOf(measures: Measure[], base: Measure[]): number {
  const times = measures.map((measure, round) => perRequest(measure) / perRequest(base[round]))
  return quantile(times, 0.5)
}

function perRequest(measure: Measure | undefined): number {
  if (!measure) return Number.NaN

  return measure.cpu_us / measure.requests
}

function perSecond(measure: Measure): number {
  return measure.requests / measure.seconds
}

function middle(measures: Measure[], pick: (measure: Measure) => number): number {
  return quantile(measures.map(pick), 0.5)
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
