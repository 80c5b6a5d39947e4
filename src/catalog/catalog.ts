// The models this process serves: the price list, as changed by CATALOG_FILE. Read once, at start.

import { applyCatalogFile } from './catalog-file.ts'
import type { Catalog, Model } from './models.ts'
import { AUDIO_MODELS, CHAT_MODELS } from './price-list.ts'

/** `file`: the setting CATALOG_FILE. */
export function loadCatalog(options: { file?: string | undefined } = {}): Catalog {
  const listed: readonly Model[] = [...CHAT_MODELS, ...AUDIO_MODELS]
  const models = options.file === undefined ? listed : applyCatalogFile(listed, options.file)
  const by_name = new Map(models.map((model) => [model.name, model]))
  return { find: (name) => by_name.get(name), list: () => models }
}
