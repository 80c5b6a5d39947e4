// The models this process serves: the price list, as changed by CATALOG_FILE. Read once, at start.

import { applyCatalogFile } from './catalog-file.ts'
import type { Catalog, Model } from './models.ts'
import { AUDIO_MODELS, CHAT_MODELS } from './price-list.ts'
import { addServiceFee } from './service-fee.ts'

/** `file`: the setting CATALOG_FILE; `fee_bps`: SERVICE_FEE_PERCENT in hundredths of a percent. */
export function loadCatalog(
  options: { file?: string | undefined; fee_bps?: number } = {},
): Catalog {
  const listed: readonly Model[] = [...CHAT_MODELS, ...AUDIO_MODELS]
  const priced = options.file === undefined ? listed : applyCatalogFile(listed, options.file)
  const models = addServiceFee(priced, options.fee_bps ?? 0)
  const by_name = new Map(models.map((model) => [model.name, model]))
  return { find: (name) => by_name.get(name), list: () => models }
}
