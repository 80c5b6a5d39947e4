// WORKERS=n: a parent that owns the database and the background work, and n children that serve HTTP on one
// port. A child that dies is replaced, ever more slowly; SIGHUP replaces all, one by one, without a gap.

import cluster, { type Worker as Child } from 'node:cluster'
import { on, once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { ClusterMetrics } from './cluster-metrics.ts'
import { requireConnectionRoom } from './connections.ts'
import { providerEnvironment } from './sandbox-process.ts'
import { readSecretsKey } from './secrets-key.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'

const RESTART_MIN_MS = 200
const RESTART_MAX_MS = 30_000
/** A child that lived this long was healthy: the next one starts soon again. */
const HEALTHY_MS = 60_000
/** What a child may take to close its parts, beyond the time it has for its requests. */
const CHILD_STOP_MS = 30_000

type Fleet = ServiceOptions & {
  metrics: ClusterMetrics
  stopping: boolean
  filling: boolean
  rolling: boolean
  roll_wanted: boolean
  restart_ms: number
  replaced_at: number
}

export async function startCluster(options: ServiceOptions): Promise<Service> {
  const { log } = options
  const fleet: Fleet = {
    ...options,
    metrics: new ClusterMetrics(),
    stopping: false,
    filling: false,
    rolling: false,
    roll_wanted: false,
    restart_ms: RESTART_MIN_MS,
    replaced_at: Number.NEGATIVE_INFINITY,
  }
  // Also before the children are there: without a listener the signal would end this process.
  process.on('SIGHUP', () => void roll(fleet))
  let address = ''
  const startChildren = async () => {
    address = await forkAll(fleet)
  }
  const parent = await startParent(fleet, startChildren)
  cluster.on('exit', (child, code) => {
    if (fleet.stopping || child.exitedAfterDisconnect) return
    log.error({ pid: child.process.pid, code }, 'a child died')
    void fill(fleet)
  })
  // One that died while the others started was not noticed yet.
  void fill(fleet)
  const stop = async () => {
    // Its probes follow the children: they say 503 as long as one of them drains, and go last.
    parent.drain()
    await stopChildren(fleet)
    await parent.stop()
  }
  return { address, drain: () => parent.drain(), stop }
}

/** Applies migrations before any child looks, and does the background work unless that is elsewhere. */
async function startParent(fleet: Fleet, startChildren: () => Promise<void>): Promise<Service> {
  const { config, metrics } = fleet
  const works = config.ROLE !== 'api'
  const shareMetrics = (own: Registry) => {
    // Flags of parts that never start, such as trust, say nothing.
    if (works) metrics.include(own)
    return { read: () => metrics.read(), leave: async () => {} }
  }
  return await startService({
    ...fleet,
    config: works ? { ...config, ROLE: 'worker' } : config,
    parent: { shareMetrics, startChildren },
  })
}

/** Returns where the children listen. */
async function forkAll(fleet: Fleet): Promise<string> {
  const { config, database_url, signal } = fleet
  let address = ''
  try {
    await requireConnectionRoom(database_url, config)
    for (let i = 0; i < config.WORKERS; i++) {
      signal?.throwIfAborted()
      address = await forkReady(fleet)
    }
  } catch (error) {
    await stopChildren(fleet)
    throw error
  }
  return address
}

async function stopChildren(fleet: Fleet): Promise<void> {
  fleet.stopping = true
  await Promise.all(children().map((child) => stopChild(child, fleet)))
}

type FirstWord = { ready: string } | { fault: string }

/** Returns where the new child listens. */
async function forkReady(fleet: Fleet): Promise<string> {
  const child = cluster.fork({
    DATABASE_URL: fleet.database_url,
    SECRETS_KEY: readSecretsKey(fleet.config),
    ROLE: 'api',
    WORKERS: '1',
    ...providerEnvironment(fleet.config),
  })
  const ended = new AbortController()
  const told = firstWord(child, ended.signal)
  const died = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error('a child ended before it was ready')
  })
  try {
    const word = await Promise.race([told, died])
    if ('fault' in word) throw new Error(word.fault)
    fleet.metrics.admit(child)
    return word.ready
  } finally {
    ended.abort()
    await Promise.allSettled([told, died])
  }
}

/** It may ask for metrics before: its port is open a moment earlier. */
async function firstWord(child: Child, signal: AbortSignal): Promise<FirstWord> {
  for await (const [message] of on(child, 'message', { signal })) {
    if (isFirstWord(message)) return message
  }
  throw new Error('a child said nothing')
}

function isFirstWord(message: unknown): message is FirstWord {
  return (
    typeof message === 'object' && message !== null && ('ready' in message || 'fault' in message)
  )
}

/** Forks what is missing, until nothing is. */
async function fill(fleet: Fleet): Promise<void> {
  if (fleet.filling) return
  fleet.filling = true
  while (isShort(fleet)) {
    if (performance.now() - fleet.replaced_at > HEALTHY_MS) fleet.restart_ms = RESTART_MIN_MS
    await wait(fleet.restart_ms)
    if (!isShort(fleet)) break
    fleet.restart_ms = Math.min(fleet.restart_ms * 2, RESTART_MAX_MS)
    fleet.replaced_at = performance.now()
    try {
      await forkReady(fleet)
    } catch (error) {
      fleet.log.error({ err: error }, 'a child could not be replaced')
    }
  }
  fleet.filling = false
}

function isShort(fleet: Fleet): boolean {
  const staying = children().filter((child) => !child.exitedAfterDisconnect)
  return !fleet.stopping && staying.length < fleet.config.WORKERS
}

/** Asked for again while it runs, it runs once more: the children may have read the old settings. */
async function roll(fleet: Fleet): Promise<void> {
  fleet.roll_wanted = true
  if (fleet.rolling) return
  fleet.rolling = true
  while (fleet.roll_wanted && !fleet.stopping) {
    fleet.roll_wanted = false
    try {
      await replaceChildren(fleet)
    } catch (error) {
      fleet.log.error({ err: error }, 'not every child was replaced')
    }
  }
  fleet.rolling = false
}

async function replaceChildren(fleet: Fleet): Promise<void> {
  for (const old of children()) {
    if (fleet.stopping) return
    if (old.isDead() || old.exitedAfterDisconnect) continue
    await forkReady(fleet)
    const stopped = stopChild(old, fleet)
    // Another may have died while there was one too many.
    void fill(fleet)
    await stopped
  }
  fleet.log.info('every child was replaced')
}

function children(): Child[] {
  return Object.values(cluster.workers ?? {}).filter((child) => child !== undefined)
}

async function stopChild(child: Child, { config, log }: Fleet): Promise<void> {
  if (child.isDead()) return
  const exit = once(child, 'exit')
  // A second signal would mean "at once" to a child that is draining already.
  if (!child.exitedAfterDisconnect) {
    // Marks the exit as wanted; the child itself drains before it disconnects.
    child.exitedAfterDisconnect = true
    child.process.kill('SIGTERM')
  }
  const limit_ms = config.DRAIN_MS + config.SHUTDOWN_GRACE_MS + CHILD_STOP_MS
  const killer = setTimeout(() => {
    log.error({ pid: child.process.pid }, 'a child does not stop: killing it')
    child.process.kill('SIGKILL')
  }, limit_ms)
  await exit
  clearTimeout(killer)
}
