// OpenAI's list of models, in one page. `shutdown_date` is a day or null.

import { recordOf, textOf } from '../json-values.ts'
import { dayOf, type ModelListReader } from '../model-list.ts'

export const openaiModels: ModelListReader = {
  ask: ({ base_url, api_key }) => ({
    url: `${base_url}/models`,
    headers: { authorization: `Bearer ${api_key}` },
  }),
  read({ data }) {
    if (!Array.isArray(data)) return undefined
    const models = data.map(recordOf).map(({ id, shutdown_date }) => {
      const retires_on = dayOf(shutdown_date)
      return { id: textOf(id), ...(retires_on !== undefined && { retires_on }) }
    })
    return { models, next: undefined }
  },
}
