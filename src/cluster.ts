// WORKERS=n: a parent that owns the database and the background work, and n children that serve HTTP on one
// port. A child that dies is replaced, ever more slowly; SIGHUP replaces all, one by one, without a gap.

import cluster, { type Worker as Child } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from './config.ts'
import type { Log } from './platform/log.ts'
import { type Service, startService } from './service.ts'

const RESTART_MIN_MS = 200
const RESTART_MAX_MS = 30_000
/** A child that lived this long was healthy: the next one starts at once again. */
const HEALTHY_MS = 60_000

export type ClusterOptions = { config: Config; database_url: string; log: Log }

export async function startCluster(options: ClusterOptions): Promise<Service> {
  const { config, log } = options
  const parent = await startParent(options)
  const state = { stopping: false, restart_ms: RESTART_MIN_MS }
  cluster.on('exit', (child, code) => {
    if (state.stopping || child.exitedAfterDisconnect) return
    log.error({ pid: child.process.pid, code }, 'a child died')
    void replace(options, state)
  })
  try {
    for (let i = 0; i < config.WORKERS; i++) await forkReady(options)
  } catch (error) {
    state.stopping = true
    await stopChildren()
    await parent.stop()
    throw error
  }
  const roll = () => void rollChildren(options)
  process.on('SIGHUP', roll)
  return {
    address: `http://${config.HOST}:${config.PORT}`,
    async stop() {
      state.stopping = true
      process.off('SIGHUP', roll)
      await stopChildren()
      await parent.stop()
    },
  }
}

/** Applies migrations before any child looks, and does the background work unless that is elsewhere. */
async function startParent(options: ClusterOptions): Promise<Service> {
  const { config } = options
  if (config.ROLE === 'api') return { address: undefined, stop: async () => {} }
  return await startService({ ...options, config: { ...config, ROLE: 'worker' } })
}

async function forkReady(options: ClusterOptions): Promise<Child> {
  const child = cluster.fork({ DATABASE_URL: options.database_url, ROLE: 'api', WORKERS: '1' })
  const ended = new AbortController()
  const ready = once(child, 'message', { signal: ended.signal })
  const died = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error('a child ended before it was ready')
  })
  try {
    await Promise.race([ready, died])
  } finally {
    ended.abort()
    await Promise.allSettled([ready, died])
  }
  return child
}

async function replace(
  options: ClusterOptions,
  state: { stopping: boolean; restart_ms: number },
): Promise<void> {
  await wait(state.restart_ms, undefined, { ref: false })
  if (state.stopping) return
  state.restart_ms = Math.min(state.restart_ms * 2, RESTART_MAX_MS)
  try {
    await forkReady(options)
    setTimeout(() => {
      state.restart_ms = RESTART_MIN_MS
    }, HEALTHY_MS).unref()
  } catch (error) {
    options.log.error({ err: error }, 'a child could not be replaced')
  }
}

async function rollChildren(options: ClusterOptions): Promise<void> {
  for (const old of children()) {
    await forkReady(options)
    await stopChild(old)
  }
  options.log.info('every child was replaced')
}

async function stopChildren(): Promise<void> {
  await Promise.all(children().map(stopChild))
}

function children(): Child[] {
  return Object.values(cluster.workers ?? {}).filter((child) => child !== undefined)
}

async function stopChild(child: Child): Promise<void> {
  if (child.isDead()) return
  const exit = once(child, 'exit')
  // Marks the exit as wanted; the child itself drains before it disconnects.
  child.exitedAfterDisconnect = true
  child.process.kill('SIGTERM')
  await exit
}
