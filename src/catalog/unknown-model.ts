// The answer to a model name that is not known: it names the one that was probably meant.

import { ApiError } from '../platform/errors.ts'
import type { Catalog, Model } from './models.ts'

const SHOWN_MAX = 100

/** `kind`: what the caller may choose from. */
export function unknownModel(catalog: Catalog, name: string, kind?: Model['kind']): ApiError {
  const nearest = catalog.nearest(name, kind)
  const what = kind === undefined ? 'model' : `${kind} model`
  return new ApiError('model_not_found', {
    message: `There is no ${what} ${JSON.stringify(name.slice(0, SHOWN_MAX))}.`,
    // Without a kind it was named in the address.
    ...(kind !== undefined && { param: 'model' }),
    ...(nearest !== undefined && {
      hint: `Did you mean ${JSON.stringify(nearest)}? GET /v1/models lists the models.`,
    }),
  })
}
