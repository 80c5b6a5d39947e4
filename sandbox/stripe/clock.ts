// The stand-in's own time. It runs with the real one until a test moves or stops it, so that keys
// can be pruned and links can expire without anybody waiting.

export type Clock = {
  nowMs(): number
  /** Whole seconds, as every Stripe object states its time. */
  nowSeconds(): number
  advance(duration_ms: number): void
  /** Moves to a moment; a stopped clock stays there until it is moved again. */
  set(moment_ms: number, stopped: boolean): void
  isStopped(): boolean
}

export function createClock(): Clock {
  let offset_ms = 0
  let stopped_at_ms: number | undefined
  const nowMs = () => stopped_at_ms ?? Date.now() + offset_ms
  return {
    nowMs,
    nowSeconds: () => Math.floor(nowMs() / 1000),
    advance(duration_ms) {
      if (stopped_at_ms === undefined) offset_ms += duration_ms
      else stopped_at_ms += duration_ms
    },
    set(moment_ms, stopped) {
      offset_ms = moment_ms - Date.now()
      stopped_at_ms = stopped ? moment_ms : undefined
    },
    isStopped: () => stopped_at_ms !== undefined,
  }
}
