// The last 24 hours of a webhook as a strip of 48 half hours. A bar is as high as there were attempts; what failed
// stands on top in another shade and pattern. The sentence beside it says the same.

import { formatCount } from '../format.ts'

const WIDTH = 192
const HEIGHT = 28
const STEP = WIDTH / 48
const LEAST = 3

export type HalfHours = { delivered: readonly number[]; failed: readonly number[] }

export function Strip({ delivered, failed }: HalfHours) {
  const highest = Math.max(1, ...delivered.map((count, index) => count + (failed[index] ?? 0)))
  // What happened at all is seen, however small beside the highest.
  const heightOf = (count: number) =>
    count === 0 ? 0 : Math.max(LEAST, (count / highest) * (HEIGHT - 2))
  return (
    <svg
      className="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Last 24 hours: ${describeAttempts({ delivered, failed })}`}
    >
      {delivered.map((count, index) => {
        const [good, bad] = [heightOf(count), heightOf(failed[index] ?? 0)]
        const scale = Math.min(1, HEIGHT / Math.max(1, good + bad))
        const x = index * STEP
        return (
          // One of 48 places that never move.
          <g key={index}>
            <rect className="strip-none" x={x} y={HEIGHT - 1} width={STEP - 1} height={1} />
            <rect
              className="strip-good"
              x={x}
              y={HEIGHT - good * scale}
              width={STEP - 1}
              height={good * scale}
            />
            <rect
              className="strip-bad"
              x={x}
              y={HEIGHT - (good + bad) * scale}
              width={STEP - 1}
              height={bad * scale}
            />
          </g>
        )
      })}
    </svg>
  )
}

/** "98.5 % of 200", by attempts: an event that was tried twice counts twice. */
export function describeRate({ delivered, failed }: HalfHours): string {
  const [good, bad] = [sum(delivered), sum(failed)]
  const all = good + bad
  if (all === 0) return 'Nothing sent'
  return `${formatShare(good / all)} of ${formatCount(all)}`
}

export function describeAttempts({ delivered, failed }: HalfHours): string {
  const [good, bad] = [sum(delivered), sum(failed)]
  if (good + bad === 0) return 'nothing was sent'
  const share = formatShare(good / (good + bad))
  return `${formatCount(good)} delivered, ${formatCount(bad)} failed attempts (${share})`
}

/** Never rounded up to 100 %, which would hide a failure. */
function formatShare(share: number): string {
  const percent = Math.floor(share * 1_000) / 10
  return `${percent}\u00a0%`
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
