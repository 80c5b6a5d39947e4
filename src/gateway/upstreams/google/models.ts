// Google's list of models. It names no days: those of Google's models stand in our own table only.

import { recordOf, textOf } from '../json-values.ts'
import type { ModelListReader } from '../model-list.ts'

const PAGE_SIZE = 1_000
const NAME_PREFIX = 'models/'

export const googleModels: ModelListReader = {
  ask({ base_url, api_key }, cursor) {
    const after = cursor === undefined ? '' : `&pageToken=${encodeURIComponent(cursor)}`
    return {
      url: `${base_url}/v1beta/models?pageSize=${PAGE_SIZE}${after}`,
      headers: { 'x-goog-api-key': api_key },
    }
  },
  read({ models, nextPageToken }) {
    if (!Array.isArray(models)) return undefined
    const ids = models.map(recordOf).map(({ name }) => textOf(name))
    return {
      models: ids.map((id) => ({
        id: id.startsWith(NAME_PREFIX) ? id.slice(NAME_PREFIX.length) : id,
      })),
      next: textOf(nextPageToken) === '' ? undefined : textOf(nextPageToken),
    }
  },
}
