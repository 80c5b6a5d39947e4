// Settlements that the database could not take in time: a call was served, and whoever pays must still be charged. They
// are written to a folder of this machine, one file for all that come at once, and posted when the database is back, by
// this process or the next. A settlement has the id of its call, so posting one twice charges once.

import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { LedgerMetrics } from '../../platform/metrics.ts'
import { toJson } from '../../platform/money.ts'
import type { Hold, SettleRequest } from '../holds.ts'
import type { LimitedCounter } from '../spend-limits.ts'
import { RefusedItem } from './batch-entry.ts'

export type UnpostedOptions = { folder: string; log: Log; metrics: LedgerMetrics }

/** What one process keeps at most: far more than it can have calls under way. */
const KEPT_LIMIT = 100_000
const FILES_AT_ONCE = 1_000
const POSTED_AT_ONCE = 500
const SUFFIX = '.ndjson'
/** What no database will take; for a person to look at. */
const REFUSED_FILE = 'refused.txt'

export class UnpostedSettlements {
  readonly #options: UnpostedOptions
  #gathered: SettleRequest[] = []
  #writing: Promise<void> | undefined
  #kept = 0

  constructor(options: UnpostedOptions) {
    this.#options = options
  }

  /** True when the settlement is on the disk. */
  async keep(request: SettleRequest): Promise<boolean> {
    if (this.#kept + this.#gathered.length >= KEPT_LIMIT) return false
    this.#gathered.push(request)
    // Those who come while a file is written share the next one.
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    try {
      await this.#writing
      return true
    } catch (error) {
      this.#options.log.error({ alarm: 'ledger_settle', err: error }, 'settlements not kept')
      return false
    }
  }

  /** When everything that was given to `keep` is on the disk, or could not be written. */
  async written(): Promise<void> {
    // Those who were given up a moment ago come to `keep` in this turn.
    await turn()
    await this.#writing?.catch(() => {})
  }

  /** Posts what this machine has kept. A file goes when each of its lines was posted or refused. */
  async post(settle: (request: SettleRequest) => Promise<unknown>): Promise<void> {
    const { log, metrics } = this.#options
    const files = await this.#files()
    let left = 0
    for (const file of files.slice(0, FILES_AT_ONCE)) {
      const requests = await this.#readLines(file)
      const outcomes = await postAll(requests, settle)
      const waiting = outcomes.filter(({ outcome }) => outcome === 'waiting').length
      left += waiting
      if (waiting > 0) continue
      const refused = outcomes.filter(({ outcome }) => outcome === 'refused')
      if (refused.length > 0) await this.keepRefused(refused.map(({ request }) => request))
      await unlink(file).catch(() => {})
      metrics.ledger_kept.inc({ outcome: 'posted' }, outcomes.length - refused.length)
      metrics.ledger_kept.inc({ outcome: 'refused' }, refused.length)
      log.warn({ posted: outcomes.length - refused.length, refused: refused.length }, 'posted late')
    }
    this.#kept = left
    metrics.ledger_unposted.set(left)
  }

  async #writeAll(): Promise<void> {
    while (this.#gathered.length > 0) await this.#write()
  }

  async #write(): Promise<void> {
    // Whoever is given up in the same moment shares the file.
    await turn()
    const requests = this.#gathered
    this.#gathered = []
    const { folder, metrics, log } = this.#options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = path.join(folder, `${Date.now()}-${randomUUID()}`)
    await writeDurably(`${file}.part`, requests.map((request) => `${toJson(request)}\n`).join(''))
    await rename(`${file}.part`, file + SUFFIX)
    await syncFolder(folder)
    this.#kept += requests.length
    metrics.ledger_unposted.set(this.#kept)
    metrics.ledger_kept.inc({ outcome: 'kept' }, requests.length)
    log.warn({ settlements: requests.length, file: file + SUFFIX }, 'settlements kept on disk')
  }

  async #files(): Promise<string[]> {
    const { folder } = this.#options
    try {
      const names = await readdir(folder)
      return names
        .filter((name) => name.endsWith(SUFFIX))
        .sort()
        .map((name) => path.join(folder, name))
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  }

  /** A file that cannot be read keeps no other from being posted. */
  async #readLines(file: string): Promise<SettleRequest[]> {
    const text = await this.#read(file)
    try {
      return parseLines(text)
    } catch (error) {
      this.#options.log.error({ alarm: 'ledger_settle', err: error, file }, 'kept file is damaged')
      await rename(file, `${file}.damaged`)
      return []
    }
  }

  /** Another process of this machine may have posted it meanwhile. */
  async #read(file: string): Promise<string> {
    try {
      return await readFile(file, 'utf8')
    } catch (error) {
      if (isMissing(error)) return ''
      throw error
    }
  }

  /** For a person to look at: no database will take them as they are. */
  async keepRefused(requests: readonly SettleRequest[]): Promise<void> {
    const { folder, log } = this.#options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    for (const { hold, used_credits } of requests) {
      const context = { hold: hold.id, wallet_id: hold.wallet_id, credits: Number(used_credits) }
      log.error({ alarm: 'ledger_settle', ...context }, 'a settlement was refused')
    }
    const lines = requests.map((request) => `${toJson(request)}\n`).join('')
    await writeFile(path.join(folder, REFUSED_FILE), lines, { flag: 'a', mode: 0o600, flush: true })
  }
}

type Posted = { request: SettleRequest; outcome: 'posted' | 'refused' | 'waiting' }

async function postAll(
  requests: readonly SettleRequest[],
  settle: (request: SettleRequest) => Promise<unknown>,
): Promise<Posted[]> {
  const outcomes: Posted[] = []
  for (let start = 0; start < requests.length; start += POSTED_AT_ONCE) {
    const part = requests.slice(start, start + POSTED_AT_ONCE)
    const results = await Promise.allSettled(part.map(settle))
    part.forEach((request, index) => {
      const result = results[index]
      const posted = result?.status === 'fulfilled'
      const waits = result?.status === 'rejected' && isBusy(result.reason)
      outcomes.push({ request, outcome: posted ? 'posted' : waits ? 'waiting' : 'refused' })
    })
  }
  return outcomes
}

/** The database may take it another time. */
function isBusy(error: unknown): boolean {
  if (error instanceof RefusedItem) return false
  return error instanceof ApiError && error.code === 'service_unavailable'
}

/** A settlement as JSON carries it: credits are whole numbers, exactly, and only their type has to be given back. */
type Written = Omit<SettleRequest, 'hold' | 'used_credits' | 'cost_credits'> & {
  used_credits: number
  cost_credits: number
  hold: Omit<Hold, 'amount' | 'spend'> & {
    amount: number
    spend?: (Omit<LimitedCounter, 'limit'> & { limit: number })[]
  }
}

function parseLines(text: string): SettleRequest[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const request: Written = JSON.parse(line)
    const { spend: counters, ...hold } = request.hold
    const spend = counters?.map((counter) => ({ ...counter, limit: BigInt(counter.limit) }))
    return {
      ...request,
      hold: { ...hold, amount: BigInt(hold.amount), ...(spend && { spend }) },
      used_credits: BigInt(request.used_credits),
      cost_credits: BigInt(request.cost_credits),
    }
  })
}

async function writeDurably(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600, flush: true })
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
