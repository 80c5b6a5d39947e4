// A provider's own list of its models, read page by page within limits. Each provider says in its `models.ts` where its
// pages are and what stands in one.

import { CallSignal, HttpFailure } from '../../platform/http-call.ts'
import type { HttpClient } from '../../platform/http-client.ts'
import type { UpstreamAddress } from './contract.ts'
import { isRecord, type JsonRecord, parseJson } from './json-values.ts'

const PAGES_MAX = 20
const PAGE_BYTES_MAX = 4 * 1024 * 1024
const PAGE_LIMITS = { headers_ms: 10_000, idle_ms: 10_000, total_ms: 15_000 }
const LIST_LIMIT_MS = 60_000

export type ListedModel = {
  /** As it is sent to the provider. */
  id: string
  /** The day that the provider has announced, as YYYY-MM-DD. */
  retires_on?: string
}

export type ModelListReader = {
  /** `cursor`: what the page before has answered as `next`. */
  ask(
    address: UpstreamAddress,
    cursor: string | undefined,
  ): { url: string; headers: Record<string, string> }
  /** Undefined: this is no page of a list. */
  read(page: JsonRecord): { models: ListedModel[]; next: string | undefined } | undefined
}

/** Why there is no list to compare with. Its message holds neither address nor credential. */
export class ModelListFault extends Error {}

export async function readModelList(
  client: HttpClient,
  { reader, address }: { reader: ModelListReader; address: UpstreamAddress },
  stop: AbortSignal,
): Promise<ListedModel[]> {
  const signal = new CallSignal()
  const abort = () => signal.abort()
  const limit = AbortSignal.any([stop, AbortSignal.timeout(LIST_LIMIT_MS)])
  if (limit.aborted) abort()
  limit.addEventListener('abort', abort)
  try {
    const models: ListedModel[] = []
    let cursor: string | undefined
    for (let page = 0; page < PAGES_MAX; page++) {
      const read = reader.read(await readPage(client, reader.ask(address, cursor), signal))
      if (!read) throw new ModelListFault('the answer is no list of models')
      models.push(...read.models)
      cursor = read.next
      if (cursor !== undefined) continue
      // Every one of ours would seem to be gone.
      if (models.length === 0) throw new ModelListFault('the list is empty')
      return models
    }
    throw new ModelListFault(`the list has more than ${PAGES_MAX} pages`)
  } catch (error) {
    throw error instanceof HttpFailure ? new ModelListFault(error.message) : error
  } finally {
    limit.removeEventListener('abort', abort)
  }
}

async function readPage(
  client: HttpClient,
  { url, headers }: { url: string; headers: Record<string, string> },
  signal: CallSignal,
): Promise<JsonRecord> {
  const reply = await client.send({ method: 'GET', url, headers, limits: PAGE_LIMITS, signal })
  const text = await reply.text(PAGE_BYTES_MAX)
  if (reply.status !== 200) throw new ModelListFault(`the answer is ${reply.status}`)
  const page = parseJson(text)
  if (!isRecord(page)) throw new ModelListFault('the answer is no JSON object')
  return page
}

/** The day of a date or time, if it is one. */
export function dayOf(value: unknown): string | undefined {
  const [day] = typeof value === 'string' ? (/^\d{4}-\d\d-\d\d/.exec(value) ?? []) : []
  return day
}
