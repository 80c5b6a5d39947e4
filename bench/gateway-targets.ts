// What bench/gateway.ts measures: the upstream itself and three gateways before it, in processes of their own.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ProcessUsage } from './gateway-probe.ts'
import { treeCpu } from './process-cpu.ts'

const PROBE = new URL('gateway-probe.ts', import.meta.url).href
const PORTKEY_PATCH = new URL('gateway-portkey.ts', import.meta.url).href
const START_LIMIT_MS = 20_000
/** Linux counts the time of other processes in these. */

export type Target = {
  name: string
  url: string
  headers: Record<string, string>
  /** What it is asked in, where that is not chat completions. */
  format?: 'responses'
  /** Undefined: no gateway in between. */
  child: ChildProcess | undefined
  /** Whose process tree works for it as well. */
  postgres_pid: number | undefined
}

export type Usage = ProcessUsage & { postgres_cpu_us: number }

export class Servers {
  readonly #children: ChildProcess[] = []

  /** One of our own files, which says where it listens. */
  async start(
    file: string,
    args: string[],
    node_flags: string[] = [],
  ): Promise<{ child: ChildProcess; url: string }> {
    const script = fileURLToPath(new URL(file, import.meta.url))
    const child = this.#fork(script, args, node_flags)
    const exit = once(child, 'exit').then(() => Promise.reject(new Error(`${file} does not start`)))
    const [url] = (await Promise.race([once(child, 'message'), exit])) as [string]
    exit.catch(() => {})
    return { child, url }
  }

  /** Undefined: it does not run here. */
  async startPortkey(): Promise<{ child: ChildProcess; url: string } | undefined> {
    const port = await findFreePort()
    const package_url = new URL('../node_modules/@portkey-ai/gateway/', import.meta.url)
    const script = fileURLToPath(new URL('build/start-server.js', package_url))
    const flags = ['--import', PORTKEY_PATCH]
    const child = this.#fork(script, [`--port=${port}`, '--headless'], flags)
    const url = `http://127.0.0.1:${port}`
    const give_up_at = performance.now() + START_LIMIT_MS
    while (child.exitCode === null && performance.now() < give_up_at) {
      const answers = await fetch(url).then(
        () => true,
        () => false,
      )
      if (answers) return { child, url }
      await sleep(100)
    }
    return undefined
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exit = once(child, 'exit')
      if (child.connected) child.disconnect()
      await exit
    }
  }

  #fork(script: string, args: string[], node_flags: string[] = []): ChildProcess {
    const child = fork(script, args, {
      execArgv: ['--import', PROBE, ...node_flags],
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#children.push(child)
    return child
  }
}

export async function usageOf({ child, postgres_pid }: Target): Promise<Usage> {
  const postgres_cpu_us = postgres_pid === undefined ? 0 : treeCpu(postgres_pid)
  if (!child) return { cpu_us: 0, rss_bytes: 0, postgres_cpu_us }
  child.send('usage')
  const [usage] = (await once(child, 'message')) as [ProcessUsage]
  return { ...usage, postgres_cpu_us }
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
