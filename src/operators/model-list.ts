// What the service sells, as operators see it: names, prices, life cycle, whether it can be called, and its traffic.

import { Type } from 'typebox'
import type { Catalog, Model, Provider } from '../catalog/models.ts'
import { INPUT_UNITS, PROVIDERS } from '../catalog/models.ts'
import { Credits, Nullable } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { addTraffic, readServiceUsage } from '../usage/service-usage.ts'

export type ModelParts = {
  db: Db
  clock: Clock
  catalog: Catalog
  service_fee_percent: number
  hasKey: (provider: Provider) => boolean
  /** What the last look at the providers' own lists has found, in this process. */
  findings: () => readonly { model: string; message: string }[]
}

const Price = Type.Integer({ examples: [150_000] })

export const ModelState = Type.Object({
  name: Type.String({ examples: ['gpt-4o-mini'] }),
  provider: Type.Enum([...PROVIDERS]),
  upstream_id: Type.String({ examples: ['gpt-4o-mini'] }),
  kind: Type.Enum(['chat', 'embedding', 'speech', 'transcription', 'sound']),
  pricing: Type.Object(
    {
      unit: Type.Enum(Object.values(INPUT_UNITS)),
      input: Price,
      cached_input: Nullable(Price),
      cache_write_5m: Nullable(Price),
      cache_write_1h: Nullable(Price),
      audio_input: Nullable(Price),
      output: Nullable(Price),
    },
    { description: 'Credits per million units, the fee of the service included.' },
  ),
  on_disconnect: Nullable(
    Type.Enum(['cancel', 'drain'], { description: 'Of a stream whose client leaves.' }),
  ),
  state: Type.Enum(['served', 'retiring', 'retired']),
  retires_on: Nullable(Type.String({ format: 'date', examples: ['2027-01-14'] })),
  warnings: Type.Array(Type.String()),
  key_configured: Type.Boolean(),
  day: Type.Object(
    {
      requests: Type.Integer({ examples: [1204] }),
      errors: Type.Integer({ examples: [3] }),
      credits: Credits,
    },
    { description: 'Calls of everybody since `traffic_from`.' },
  ),
})

export async function listModels(parts: ModelParts) {
  const { catalog, service_fee_percent } = parts
  const { from, rows } = await readServiceUsage(parts.db, parts.clock.now())
  // What failed is counted by the name that was asked for.
  const by_name = Map.groupBy(rows, (row) => catalog.find(row.model)?.name ?? row.model)
  const findings = parts.findings()
  const data = catalog.list().map((model) => ({
    name: model.name,
    provider: model.provider,
    upstream_id: model.upstream_id,
    kind: model.kind,
    pricing: pricesOf(model),
    on_disconnect: model.kind === 'chat' ? model.on_disconnect : null,
    ...lifeCycleOf(model),
    warnings: findings.filter((found) => found.model === model.name).map(({ message }) => message),
    key_configured: parts.hasKey(model.provider),
    day: presentTraffic(addTraffic(by_name.get(model.name) ?? [])),
  }))
  return { service_fee_percent, traffic_from: from.toISOString(), data }
}

function pricesOf(model: Model) {
  if (model.kind !== 'chat') {
    const none = { cached_input: null, cache_write_5m: null, cache_write_1h: null }
    const unit = INPUT_UNITS[model.kind]
    return { unit, input: Number(model.price), ...none, audio_input: null, output: null }
  }
  const { prices } = model
  return {
    unit: 'token' as const,
    input: Number(prices.input),
    cached_input: Number(prices.cache_read),
    cache_write_5m: Number(prices.cache_write_5m),
    cache_write_1h: Number(prices.cache_write_1h),
    audio_input: prices.audio_input === undefined ? null : Number(prices.audio_input),
    output: Number(prices.output),
  }
}

function lifeCycleOf(model: Model) {
  if (model.kind !== 'chat') return { state: 'served' as const, retires_on: null }
  const { retired, retires_on = null } = model
  if (retired) return { state: 'retired' as const, retires_on }
  const state = retires_on === null ? ('served' as const) : ('retiring' as const)
  return { state, retires_on }
}

function presentTraffic({ requests, errors, credits }: ReturnType<typeof addTraffic>) {
  return { requests: Number(requests), errors: Number(errors), credits }
}
