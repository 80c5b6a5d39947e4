// How long a provider asks to wait, in whole seconds, from whichever place it says so.

import { listOf, recordOf, textOf } from './json-values.ts'

export type RetrySource = {
  headers: Readonly<Record<string, string | undefined>>
  /** Google's `error.details`. */
  details: unknown
  now: Date
}

const OPENAI_DIMENSIONS = ['requests', 'tokens']
const ANTHROPIC_DIMENSIONS = ['requests', 'tokens', 'input-tokens', 'output-tokens']
const UNIT_SECONDS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001 }

/** At least 1; undefined when the provider does not say. */
export function retryAfterSeconds(source: RetrySource): number | undefined {
  const seconds =
    fromMilliseconds(source.headers['retry-after-ms']) ??
    fromRetryAfter(source.headers['retry-after'], source.now) ??
    fromOpenaiReset(source.headers) ??
    fromAnthropicReset(source.headers, source.now) ??
    fromGoogleDetails(source.details)
  return seconds === undefined ? undefined : Math.max(Math.ceil(seconds), 1)
}

function fromMilliseconds(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value) ? Number(value) / 1000 : undefined
}

function fromRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined
  return /^\d+(\.\d+)?$/.test(value) ? Number(value) : secondsUntil(value, now)
}

function fromOpenaiReset(headers: RetrySource['headers']): number | undefined {
  const waits = OPENAI_DIMENSIONS.filter(
    (name) => headers[`x-ratelimit-remaining-${name}`] === '0',
  ).map((name) => readDuration(headers[`x-ratelimit-reset-${name}`] ?? ''))
  return longest(waits)
}

function fromAnthropicReset(headers: RetrySource['headers'], now: Date): number | undefined {
  const waits = ANTHROPIC_DIMENSIONS.filter(
    (name) => headers[`anthropic-ratelimit-${name}-remaining`] === '0',
  ).map((name) => secondsUntil(headers[`anthropic-ratelimit-${name}-reset`] ?? '', now))
  return longest(waits)
}

function fromGoogleDetails(details: unknown): number | undefined {
  const delays = listOf(details).map((detail) => textOf(recordOf(detail)['retryDelay']))
  return longest(delays.map(readDuration))
}

/** `1s`, `6m0s`, `6ms`, `34.5s`. */
function readDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined
  let seconds = 0
  for (const [, amount = '0', unit = 's'] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit] ?? 1)
  }
  return seconds
}

function secondsUntil(date: string, now: Date): number | undefined {
  const time = Date.parse(date)
  return Number.isNaN(time) ? undefined : (time - now.getTime()) / 1000
}

function longest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
