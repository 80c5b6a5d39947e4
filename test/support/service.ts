// The service as a real process: started with settings, asked over sockets, stopped and killed. Whatever a
// test leaves running, its database included, is killed when the test file ends, also when it fails.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../../src/platform/data-dir.ts'
import { atEnd } from './cleanup.ts'
import { eventually } from './eventually.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const SERVER = path.join(ROOT, 'src/bin/server.ts')
export const SLOW_SERVER = path.join(ROOT, 'test/support/slow-server.ts')
export const COMMAND_LINE = path.join(ROOT, 'src/bin/svc.ts')
export const PASSWORD = 'correct horse battery'

const START_LIMIT_MS = 30_000
const END_LIMIT_MS = 30_000
const REPLY_LIMIT_MS = 10_000

const DEFAULTS = {
  PORT: '0',
  WORKER_PORT: '0',
  DRAIN_MS: '50',
  // Halves the CPU of a start; a test that shows how long a start takes turns it off.
  NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/e2e'),
  RATE_LIMIT_PER_MINUTE: '1000000',
  SESSION_LIMIT_PER_MINUTE: '1000000',
  REGISTER_LIMIT_PER_MINUTE: '1000000',
  LOGIN_LIMIT_PER_MINUTE: '1000000',
}

export type Settings = Record<string, string>

export type Ended = { code: number | null; signal: NodeJS.Signals | null; took_ms: number }

export type Program = ReturnType<typeof launch>

export type ServerProcess = Program & { url: string; port: number; started_ms: number }

/** An empty folder that goes away with the test file. */
export function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-e2e-'))
  atEnd(async () => {
    await endPostgres(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  return folder
}

/** Starts the service and waits until it says that it is ready. */
export async function startServer(
  settings: Settings,
  options: { entry?: string; command?: [string, ...string[]]; cwd?: string } = {},
): Promise<ServerProcess> {
  const started = performance.now()
  const { entry = SERVER, ...rest } = options
  const program = launch(rest.command ?? [process.execPath, entry], settings, rest)
  const isUp = () => program.stderr().includes('is ready') || program.ended() !== undefined
  await eventually('the service starts', isUp, START_LIMIT_MS)
  const url = program.stderr().match(/is ready .* at (http\S+)/)?.[1]
  if (url === undefined) throw new Error(`the service did not start:\n${program.output()}`)
  const started_ms = performance.now() - started
  const reply = await call(url, '/ready')
  if (reply.status !== 200) throw new Error(`/ready answered ${reply.status}: ${reply.text}`)
  return { ...program, url, port: Number(new URL(url).port), started_ms }
}

/** Runs a program to its end. */
export async function runToEnd(
  command: [string, ...string[]],
  settings: Settings,
  options: { cwd?: string } = {},
): Promise<Ended & { stdout: string; stderr: string }> {
  const program = launch(command, settings, options)
  const ended = await program.end()
  return { ...ended, stdout: program.stdout(), stderr: program.stderr() }
}

// In a group of its own, so that what the program itself starts can be ended with it. In a folder without a
// .env file, and with nothing of the caller's environment but what finds programs.
export function launch(
  [command, ...args]: [string, ...string[]],
  settings: Settings,
  options: { cwd?: string } = {},
) {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(command, args, {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH, HOME, ...DEFAULTS, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
    })
  }
  let ended: Omit<Ended, 'took_ms'> | undefined
  const closed = once(child, 'close').then(([code, signal]) => {
    running.delete(child)
    ended = { code, signal }
  })
  const pid = child.pid ?? 0
  const end = async (): Promise<Ended> => {
    const asked = performance.now()
    await Promise.race([closed, wait(END_LIMIT_MS, undefined, { ref: false })])
    if (!ended) throw new Error(`${command} does not end:\n${text.stdout}${text.stderr}`)
    return { ...ended, took_ms: performance.now() - asked }
  }
  // Not process.kill: the process may have ended while what it started still holds its output open.
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  return {
    pid,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    output: () => text.stdout + text.stderr,
    logs: () => readLogs(text.stdout),
    ended: () => ended,
    signal,
    /** Waits for the end. */
    end,
    /** Asks for the end as an operator does, and waits for it. */
    stop() {
      signal('SIGTERM')
      return end()
    },
    /** Also for the end of a test: what has ended stays ended. */
    kill() {
      if (!ended) signal('SIGKILL')
      return end()
    },
  }
}

const running = new Set<ChildProcess>()

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

atEnd(async () => {
  for (const child of running) {
    const closed = once(child, 'close')
    killGroup(child)
    await closed
  }
})
// When the test runner ends this process before `after` ran.
process.on('exit', () => {
  for (const child of running) killGroup(child)
})

type LogLine = { level: string; msg: string; [field: string]: unknown }

function readLogs(text: string): LogLine[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line): LogLine => JSON.parse(line))
}

/** The pid of the postmaster that runs in a data folder. */
export function postmasterOf(data_dir: string): number | undefined {
  const file = path.join(data_dir, 'postgres/postmaster.pid')
  const pid = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0
  return pid > 0 && readCommandLine(pid).includes(data_dir) ? pid : undefined
}

async function endPostgres(folder: string): Promise<void> {
  const folders = [folder, ...readdirSync(folder).map((name) => path.join(folder, name))]
  for (const data_dir of folders) {
    const pid = postmasterOf(data_dir)
    if (pid === undefined) continue
    process.kill(pid, 'SIGQUIT')
    await eventually('a database that was left behind ends', () => !isAlive(pid), END_LIMIT_MS)
  }
}

export function isAlive(pid: number): boolean {
  return readCommandLine(pid) !== ''
}

/** The processes that a process started and that are still there. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number)
}

function parentOf(pid: string): number | undefined {
  try {
    // The name in brackets may hold anything; the parent is the second field after it.
    const [, ppid] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return Number(ppid)
  } catch {
    return undefined
  }
}

export type Reply = {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  json: <Body>() => Body
}

type CallOptions = {
  method?: string
  body?: unknown
  bearer?: string
  headers?: Record<string, string>
  agent?: http.Agent
}

/** One request. Rejects if the connection fails before the reply is complete. */
export async function call(base: string, at: string, options: CallOptions = {}): Promise<Reply> {
  const { body, bearer, agent } = options
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const request = http.request(`${base}${at}`, {
    method: options.method ?? (payload === undefined ? 'GET' : 'POST'),
    agent: agent ?? false,
    signal: AbortSignal.timeout(REPLY_LIMIT_MS),
    headers: {
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...options.headers,
    },
  })
  request.end(payload)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  if (!response.complete) throw new Error('the reply was cut')
  const { statusCode: status = 0, headers } = response
  return { status, headers, text, json: () => JSON.parse(text) }
}

let people = 0

export async function register(base: string, email = `e2e-${++people}@example.com`) {
  const reply = await call(base, '/auth/register', { body: { email, password: PASSWORD } })
  if (reply.status !== 201) throw new Error(`register answered ${reply.status}: ${reply.text}`)
  return { email, token: reply.json<{ session_token: string }>().session_token }
}

export async function createKey(base: string, token: string) {
  const body = { name: 'test', billing_mode: 'developer' }
  const reply = await call(base, '/developers/keys', { body, bearer: token })
  if (reply.status !== 201) throw new Error(`keys answered ${reply.status}: ${reply.text}`)
  return reply.json<{ key: string; id: string }>()
}

/** Callers that ask without a pause, each on one kept-alive connection, until told to stop. */
export function hammer(base: string, options: { connections: number; paths: string[] }) {
  const failures: string[] = []
  const statuses = new Map<number, number>()
  const wanted = new AbortController()
  let closes = 0
  const caller = async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    for (let i = 0; !wanted.signal.aborted && failures.length < 20; i += 1) {
      const at = options.paths[i % options.paths.length] ?? '/'
      try {
        const reply = await call(base, at, { agent })
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
        if (reply.headers.connection === 'close') closes += 1
        if (reply.status >= 500) failures.push(`${at} answered ${reply.status}: ${reply.text}`)
      } catch (error) {
        failures.push(`${at}: ${String(error)}`)
      }
    }
    agent.destroy()
  }
  const callers = Array.from({ length: options.connections }, caller)
  return {
    count: () => [...statuses.values()].reduce((sum, count) => sum + count, 0),
    closes: () => closes,
    async stop() {
      wanted.abort()
      await Promise.all(callers)
      return { failures, statuses }
    },
  }
}

export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const outcome = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return outcome
}

/** A bare connection that remembers everything it was sent. */
export async function openSocket(port: number) {
  const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let received = ''
  let is_closed = false
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk
  })
  // A reset is one way to be refused.
  socket.on('error', () => {})
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      is_closed = true
    })
  }
  atEnd(() => socket.destroy())
  await once(socket, 'connect')
  return {
    write: (bytes: string) => socket.write(bytes, 'latin1'),
    received: () => received,
    isClosed: () => is_closed,
    destroy: () => socket.destroy(),
  }
}
