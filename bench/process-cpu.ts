// CPU time of a process and its children, from /proc.

import { readdirSync, readFileSync } from 'node:fs'

const MICROSECONDS_PER_TICK = 10_000

/** A process, its children, and the children it has already buried; 0 where there is no /proc. */
export function treeCpu(pid: number): number {
  const root = readStat(pid)
  let ticks = root ? root.own + root.buried : 0
  for (const other of listProcesses()) {
    const stat = readStat(other)
    if (stat?.parent === pid) ticks += stat.own
  }
  return ticks * MICROSECONDS_PER_TICK
}

function listProcesses(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function readStat(pid: number): { parent: number; own: number; buried: number } | undefined {
  try {
    // The name, in parentheses, may hold spaces: count from its end.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const field = (at: number) => Number(fields[at])
    return { parent: field(1), own: field(11) + field(12), buried: field(13) + field(14) }
  } catch {
    return undefined
  }
}
