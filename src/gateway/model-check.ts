// Compares what we call upstream with the providers' own lists: which models are gone, which are announced to go.

import type { Catalog, ChatModel, EmbeddingModel, Model } from '../catalog/models.ts'
import type { Clock } from '../platform/clock.ts'
import type { HttpClient } from '../platform/http-client.ts'
import type { ChatParts } from './order.ts'
import { anthropicModels } from './upstreams/anthropic/models.ts'
import type { UpstreamAddress } from './upstreams/contract.ts'
import { googleModels } from './upstreams/google/models.ts'
import {
  type ListedModel,
  ModelListFault,
  type ModelListReader,
  readModelList,
} from './upstreams/model-list.ts'
import { openaiModels } from './upstreams/openai/models.ts'

const SOON_DAYS = 60
const DAY_MS = 86_400_000

type ChatProvider = ChatModel['provider']

const READERS: Readonly<Record<ChatProvider, ModelListReader>> = {
  openai: openaiModels,
  anthropic: anthropicModels,
  google: googleModels,
}

export type ModelFinding = {
  /** Public name. */
  model: string
  provider: ChatProvider
  upstream_id: string
  /** `gone`: the provider does not list it. `retiring`: it goes within 60 days, or its day has passed. */
  state: 'gone' | 'retiring'
  /** In whole days; 0 where it is gone. */
  days_left: number
  /** In one sentence. */
  message: string
}

export type ProviderCheck = {
  provider: ChatProvider
  /** Undefined: its list was read. */
  fault?: string
  findings: readonly ModelFinding[]
}

export type ModelCheckParts = {
  catalog: Catalog
  upstreams: ChatParts['upstreams']
  http_client: HttpClient
  clock: Clock
}

/** One answer for each provider that there is a credential for. */
export async function checkModels(
  parts: ModelCheckParts,
  stop: AbortSignal,
): Promise<ProviderCheck[]> {
  const asked = providersOf(parts).map(({ provider, address }) =>
    checkProvider(parts, { provider, address }, stop),
  )
  return await Promise.all(asked)
}

function providersOf({ upstreams }: ModelCheckParts) {
  const providers: { provider: ChatProvider; address: UpstreamAddress }[] = []
  for (const provider of ['openai', 'anthropic', 'google'] as const) {
    const { address } = upstreams[provider]
    if (address) providers.push({ provider, address })
  }
  return providers
}

async function checkProvider(
  { catalog, clock, http_client }: ModelCheckParts,
  { provider, address }: { provider: ChatProvider; address: UpstreamAddress },
  stop: AbortSignal,
): Promise<ProviderCheck> {
  try {
    const source = { reader: READERS[provider], address }
    const listed = await readModelList(http_client, source, stop)
    const by_id = new Map(listed.map((model) => [model.id, model]))
    const today = clock.now()
    const ours = catalog.list().filter((model) => model.provider === provider)
    const findings = ours.flatMap((model) =>
      isListed(model) ? findFaults(model, { listed: by_id, catalog, today }) : [],
    )
    return { provider, findings }
  } catch (error) {
    if (!(error instanceof ModelListFault)) throw error
    return { provider, fault: error.message, findings: [] }
  }
}

/** What stands in the lists of OpenAI, Anthropic and Google. */
type CheckedModel = ChatModel | EmbeddingModel

function isListed(model: Model): model is CheckedModel {
  return model.kind === 'chat' || model.kind === 'embedding'
}

type Compared = { listed: ReadonlyMap<string, ListedModel>; catalog: Catalog; today: Date }

function findFaults(model: CheckedModel, compared: Compared): ModelFinding[] {
  const { listed, catalog, today } = compared
  const { name, provider, upstream_id } = model
  const life: Partial<ChatModel> = model.kind === 'chat' ? model : {}
  const next = nextOf(life, catalog)
  const subject = { model: name, provider, upstream_id }
  const found: ModelFinding[] = []
  const seen = listed.get(upstream_id)
  const retires_on = seen?.retires_on ?? ownDay(life, compared)
  if (!seen) {
    const message = `${name}: ${provider} does not list ${upstream_id}${describeNext(next, today)}`
    found.push({ ...subject, state: 'gone', days_left: 0, message })
  } else if (retires_on !== undefined && daysUntil(retires_on, today) <= SOON_DAYS) {
    const what = `${name}: ${provider} shuts ${upstream_id} down on ${retires_on}`
    const message = what + describeNext(next, new Date(retires_on))
    const days_left = Math.max(0, daysUntil(retires_on, today))
    found.push({ ...subject, state: 'retiring', days_left, message })
  }
  if (next && daysUntil(next.from, today) <= SOON_DAYS && !listed.has(next.upstream_id)) {
    const message = `${name}: ${provider} does not list ${next.upstream_id}, which is to serve it from ${next.from} on`
    const missing = { model: name, provider, upstream_id: next.upstream_id }
    found.push({ ...missing, state: 'gone', days_left: 0, message })
  }
  return found
}

/** What will take the model's place without anybody's doing. */
function nextOf(
  { retires_on, successor, retired }: Partial<ChatModel>,
  { retirement_rule }: Catalog,
) {
  if (retirement_rule !== 'succeed' || retired || !successor || retires_on === undefined) {
    return undefined
  }
  return { upstream_id: successor.upstream_id, from: retires_on }
}

/** A day that has passed belongs to the model before the successor, and stand-ins have none. */
function ownDay(
  { retires_on }: Partial<ChatModel>,
  { catalog, today }: Compared,
): string | undefined {
  if (catalog.retirement_rule === 'ignore' || retires_on === undefined) return undefined
  return daysUntil(retires_on, today) > 0 ? retires_on : undefined
}

function describeNext(next: ReturnType<typeof nextOf>, wanted: Date): string {
  if (!next) return '; nothing takes its place (MODEL_SUCCESSORS, CATALOG_FILE)'
  const { upstream_id, from } = next
  return Date.parse(from) <= wanted.getTime()
    ? `; ${upstream_id} serves the name from ${from} on`
    : `; ${upstream_id} serves the name from ${from} on only: set an earlier retires_on in CATALOG_FILE`
}

function daysUntil(day: string, today: Date): number {
  return Math.ceil((Date.parse(day) - today.getTime()) / DAY_MS)
}
