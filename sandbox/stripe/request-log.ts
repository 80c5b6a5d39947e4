// What came in and what was done about it. Tests read here how often each idempotency key was
// executed: the proof that nothing was paid twice.

import type { JsonObject } from '../json.ts'

const MAX_REQUESTS = 50_000
const MAX_KEYS = 100_000

/**
 * refused: before the idempotency layer (key, parameters, rate limit, a fault before it).
 * in_use and mismatched: the layer said no. executed: the endpoint ran, well or not.
 */
export type RequestOutcome = 'open' | 'refused' | 'in_use' | 'mismatched' | 'replayed' | 'executed'

export type RequestRecord = {
  number: number
  at: number
  request_id: string
  method: string
  path: string
  idempotency_key: string | null
  params: JsonObject
  outcome: RequestOutcome
  /** What the endpoint or the layer decided; a fault may have kept it from the client. */
  status: number | null
  object_id: string | null
  fault: string | null
}

export type KeyRecord = {
  key: string
  endpoint: string
  transfer_group: string | null
  seen: number
  executed: number
  /** Executions that succeeded: each of them moved money or made something. */
  succeeded: number
  replayed: number
  in_use: number
  mismatched: number
  refused: number
  object_ids: string[]
}

export type RequestLog = {
  begin(record: Omit<RequestRecord, 'outcome' | 'status' | 'object_id' | 'fault'>): RequestRecord
  /** Once per request. */
  end(
    record: RequestRecord,
    result: { outcome: RequestOutcome; status: number; object_id?: string | null },
  ): void
  /** Newest last. */
  requests(keep: (record: RequestRecord) => boolean, limit: number): RequestRecord[]
  keys(keep: (record: KeyRecord) => boolean, limit: number): KeyRecord[]
  total(): number
}

export function createRequestLog(): RequestLog {
  const requests = new Map<number, RequestRecord>()
  const keys = new Map<string, KeyRecord>()
  let total = 0
  return {
    begin(details) {
      total += 1
      const record: RequestRecord = {
        ...details,
        outcome: 'open',
        status: null,
        object_id: null,
        fault: null,
      }
      requests.set(record.number, record)
      dropOldest(requests, MAX_REQUESTS)
      return record
    },
    end(record, { outcome, status, object_id = null }) {
      record.outcome = outcome
      record.status = status
      record.object_id = object_id
      if (record.idempotency_key === null || record.method !== 'POST') return
      const known = keys.get(record.idempotency_key) ?? emptyRecord(record)
      keys.set(known.key, known)
      dropOldest(keys, MAX_KEYS)
      count(known, record)
    },
    requests: (keep, limit) => takeLast(requests.values(), keep, limit),
    keys: (keep, limit) => takeLast(keys.values(), keep, limit),
    total: () => total,
  }
}

function emptyRecord(record: RequestRecord): KeyRecord {
  const group = record.params['transfer_group']
  return {
    key: record.idempotency_key ?? '',
    endpoint: `${record.method} ${record.path}`,
    transfer_group: typeof group === 'string' ? group : null,
    seen: 0,
    executed: 0,
    succeeded: 0,
    replayed: 0,
    in_use: 0,
    mismatched: 0,
    refused: 0,
    object_ids: [],
  }
}

function count(known: KeyRecord, { outcome, status, object_id }: RequestRecord): void {
  known.seen += 1
  if (outcome === 'open') return
  known[outcome] += 1
  if (outcome !== 'executed' || status === null || status >= 400) return
  known.succeeded += 1
  if (object_id !== null) known.object_ids.push(object_id)
}

function dropOldest<Key, Value>(map: Map<Key, Value>, max: number): void {
  if (map.size <= max) return
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}

function takeLast<Item>(
  items: Iterable<Item>,
  keep: (item: Item) => boolean,
  limit: number,
): Item[] {
  const kept = [...items].filter((item) => keep(item))
  return kept.slice(Math.max(kept.length - limit, 0))
}
