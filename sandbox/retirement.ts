// Which models a provider has retired, or has said it will. There are none unless somebody asks: the
// sandbox stands in for the whole catalogue, and a demo must not stop working on a date.

import type { Provider } from './call.ts'
import { isObject, textOf } from './json.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** From that day on, in UTC, the model is gone; until then it is only announced. */
export type Retirement = { provider: Provider; model: string; retires_on: string }
export type Life = { stage: 'active' | 'deprecated' | 'retired'; retires_on: string | null }
export type Retirements = Map<string, Retirement>

export function createRetirements(list: readonly Retirement[] = []): Retirements {
  return new Map(list.map((item) => [keyOf(item), item]))
}

export function lifeOf(retirements: Retirements, provider: Provider, model: string): Life {
  const retires_on = retirements.get(keyOf({ provider, model }))?.retires_on
  if (retires_on === undefined) return { stage: 'active', retires_on: null }
  const today = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length)
  return { stage: retires_on <= today ? 'retired' : 'deprecated', retires_on }
}

export function setRetirement(retirements: Retirements, item: Retirement): void {
  retirements.set(keyOf(item), item)
}

export function removeRetirement(
  retirements: Retirements,
  item: Pick<Retirement, 'provider' | 'model'>,
): void {
  retirements.delete(keyOf(item))
}

/** The models that exist, by provider: one that does not cannot be retired. */
export type KnownModels = Readonly<Record<Provider, readonly string[]>>

/** A retirement as it is asked for; a null date takes one back. Otherwise says what is wrong. */
export function readRetirement(
  wish: unknown,
  known: KnownModels,
): (Omit<Retirement, 'retires_on'> & { retires_on: string | null }) | { problem: string } {
  if (!isObject(wish)) return { problem: 'a JSON object is expected' }
  const extra = Object.keys(wish).find(
    (name) => !['provider', 'model', 'retires_on'].includes(name),
  )
  if (extra !== undefined) return { problem: `there is no '${extra}' here` }
  const provider = isProvider(wish['provider'], known) ? wish['provider'] : undefined
  if (provider === undefined) {
    return { problem: `provider: one of ${Object.keys(known).join(', ')}` }
  }
  const model = textOf(wish['model'])
  if (!known[provider].includes(model)) {
    return { problem: `model: one of ${known[provider].join(', ')}` }
  }
  const retires_on = wish['retires_on']
  if (retires_on === null) return { provider, model, retires_on }
  if (typeof retires_on !== 'string' || !DAY.test(retires_on)) {
    return { problem: 'retires_on: a day such as 2026-10-23, or null' }
  }
  return { provider, model, retires_on }
}

/** Reads `openai/gpt-4=2026-10-23,google/gemini-2.0-flash=2026-06-01`, the form of the environment. */
export function parseRetirements(text: string, known: KnownModels): readonly Retirement[] {
  const items = text.split(',').filter((item) => item.trim() !== '')
  return items.map((item) => {
    const [, provider, model, retires_on] = /^\s*([^/]*)\/([^=]*)=(.*?)\s*$/.exec(item) ?? []
    const read = readRetirement({ provider, model, retires_on }, known)
    if ('problem' in read || read.retires_on === null) {
      throw new Error(`SANDBOX_RETIREMENTS ${item}: ${'problem' in read ? read.problem : 'no day'}`)
    }
    return { ...read, retires_on: read.retires_on }
  })
}

function isProvider(value: unknown, known: KnownModels): value is Provider {
  return typeof value === 'string' && Object.hasOwn(known, value)
}

function keyOf({ provider, model }: Pick<Retirement, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}
