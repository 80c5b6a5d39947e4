// A real Redis server on loopback that keeps nothing, for one test file. It can be killed, started again on
// the same port, and made to hang.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { atEnd } from './cleanup.ts'
import { eventually } from './eventually.ts'
import { skipWithout } from './system-parts.ts'

const START_WITHIN_MS = 10_000

/** For node:test's `skip`. */
export const skipWithoutRedis = skipWithout('redis-server')

export type TestRedis = Awaited<ReturnType<typeof startRedis>>

export async function startRedis() {
  const port = await freePort()
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-redis-'))
  let server = await spawnRedis(port, folder)
  const kill = async () => {
    if (hasEnded(server)) return
    const ended = once(server, 'exit')
    // A stopped process takes only SIGKILL.
    server.kill('SIGKILL')
    await ended
  }
  atEnd(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    /** Ends it at once, as a crash does. */
    kill,
    /** Starts it again, empty, on the same port. */
    async restart() {
      await kill()
      server = await spawnRedis(port, folder)
    },
    /** It keeps its port and connections, and answers nothing. */
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
    /** Sends one command as text and gives the raw reply. */
    ask: (command: string) => ask(port, command),
  }
}

/** A port of loopback on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function spawnRedis(port: number, folder: string): Promise<ChildProcess> {
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder]
  const server = spawn('redis-server', [...options, '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  })
  await eventually(
    'Redis answers',
    async () => {
      if (hasEnded(server)) throw new Error(`redis-server ended with ${server.exitCode}`)
      return (await ask(port, 'PING').catch(() => '')) === '+PONG\r\n'
    },
    START_WITHIN_MS,
  )
  return server
}

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null
}

async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    socket.write(`${command}\r\n`)
    const [reply] = (await once(socket, 'data')) as [Buffer]
    return reply.toString()
  } finally {
    socket.destroy()
  }
}
