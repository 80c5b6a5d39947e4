// The models this process serves: the price list, as changed by CATALOG_FILE. Read once, at start; what a name stands
// for changes later only on the day its provider shuts the model down.

import { type Clock, systemClock } from '../platform/clock.ts'
import { aliasesOf } from './aliases.ts'
import { applyCatalogFile } from './catalog-file.ts'
import { EMBEDDING_MODELS } from './embedding-models.ts'
import { followLifeCycle } from './life-cycle.ts'
import type { Catalog, Model, RetirementRule } from './models.ts'
import { nearestName } from './nearest-name.ts'
import { AUDIO_MODELS, CHAT_MODELS } from './price-list.ts'
import { addServiceFee } from './service-fee.ts'
import { RETIREMENTS } from './successors.ts'

export type CatalogOptions = {
  /** The setting CATALOG_FILE. */
  file?: string | undefined
  /** SERVICE_FEE_PERCENT in hundredths of a percent. */
  fee_bps?: number
  retirement_rule?: RetirementRule
  clock?: Clock
}

export function loadCatalog(options: CatalogOptions = {}): Catalog {
  const { file, fee_bps = 0, retirement_rule = 'ignore', clock = systemClock } = options
  const listed = listModels()
  const priced = file === undefined ? listed : applyCatalogFile(listed, file)
  const models = addServiceFee(priced, fee_bps)
  const served = new Map(
    models.map((model) => [model.name, followLifeCycle(model, retirement_rule, clock)]),
  )
  const public_names = new Map<string, string>()
  for (const { name, aliases = [] } of models) {
    for (const known of [name, ...aliases]) public_names.set(known, name)
  }
  return {
    retirement_rule,
    find: (name) => served.get(public_names.get(name) ?? '')?.(),
    list: () => models.map(({ name }) => served.get(name)?.()).filter((model) => !!model),
    nearest: (name, kind) => {
      const wanted = models.filter((model) => kind === undefined || model.kind === kind)
      return nearestName(name, namesOf(wanted))
    },
  }
}

function listModels(): Model[] {
  const chat = CHAT_MODELS.map((model) => ({ ...model, ...RETIREMENTS.get(model.name) }))
  const models = [...chat, ...EMBEDDING_MODELS, ...AUDIO_MODELS]
  return models.map((model) => ({ ...model, aliases: aliasesOf(model) }))
}

function* namesOf(models: readonly Model[]): Generator<[name: string, answer: string]> {
  for (const { name, aliases = [] } of models) {
    yield [name, name]
    for (const alias of aliases) yield [alias, name]
  }
}
