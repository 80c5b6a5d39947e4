// Anthropic's list of models. `lifecycle` says whether one can be called; the day of `retires_at` may pass before it
// is retired, and retired ones are left out unless they are asked for.

import { recordOf, textOf } from '../json-values.ts'
import { dayOf, type ModelListReader } from '../model-list.ts'

const VERSION = '2023-06-01'
const PAGE_SIZE = 1_000

export const anthropicModels: ModelListReader = {
  ask({ base_url, api_key }, cursor) {
    const after = cursor === undefined ? '' : `&after_id=${encodeURIComponent(cursor)}`
    return {
      url: `${base_url}/v1/models?limit=${PAGE_SIZE}${after}`,
      headers: { 'x-api-key': api_key, 'anthropic-version': VERSION },
    }
  },
  read({ data, has_more, last_id }) {
    if (!Array.isArray(data)) return undefined
    const callable = data.map(recordOf).filter(({ lifecycle }) => lifecycle !== 'retired')
    const models = callable.map(({ id, retires_at }) => {
      const retires_on = dayOf(retires_at)
      return { id: textOf(id), ...(retires_on !== undefined && { retires_on }) }
    })
    return {
      models,
      next: has_more === true && textOf(last_id) !== '' ? textOf(last_id) : undefined,
    }
  },
}
