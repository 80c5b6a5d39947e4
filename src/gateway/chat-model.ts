// Which model a request asks for, by any of its names.

import type { Catalog, ChatModel } from '../catalog/models.ts'
import { unknownModel } from '../catalog/unknown-model.ts'
import { ApiError } from '../platform/errors.ts'

/** Throws 404 for a name that is not known, 503 for a model that its provider has shut down. */
export function requireChatModel(catalog: Catalog, name: string): ChatModel {
  const model = catalog.find(name)
  if (model?.kind !== 'chat') throw unknownModel(catalog, name, 'chat')
  if (model.retired) throw retiredModel(model)
  return model
}

function retiredModel({ name, retires_on, successor }: ChatModel): ApiError {
  return new ApiError('provider_misconfigured', {
    message: `The provider of ${name} shut it down on ${retires_on}.`,
    hint: successor
      ? `Choose another model: GET /v1/models. The operator of this service can have ${successor.upstream_id} serve the name: MODEL_SUCCESSORS=on.`
      : 'Choose another model: GET /v1/models. The operator of this service can name a successor in CATALOG_FILE.',
    // It will not come back within the seconds that official clients wait before they try again.
    headers: { 'x-should-retry': 'false' },
  })
}
