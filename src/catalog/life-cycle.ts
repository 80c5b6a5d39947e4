// A model before and after its provider shuts it down. Each of both is made once, when the catalog is read: price lists
// are remembered by the object.

import type { Clock } from '../platform/clock.ts'
import type { ChatModel, Model, RetirementRule, UpstreamModel } from './models.ts'

/** Answers the model as it is served at the moment. */
export function followLifeCycle(model: Model, rule: RetirementRule, clock: Clock): () => Model {
  if (model.kind !== 'chat' || model.retires_on === undefined || rule === 'ignore') {
    return () => model
  }
  const retires_at = Date.parse(model.retires_on)
  const { successor } = model
  const afterwards: ChatModel =
    rule === 'succeed' && successor ? succeed(model, successor) : { ...model, retired: true }
  return () => (clock.now().getTime() < retires_at ? model : afterwards)
}

/** Nothing of the old model but its names, its day and its provider. */
function succeed(model: ChatModel, successor: UpstreamModel): ChatModel {
  const { kind, name, aliases, display_name, created, provider, retires_on } = model
  return {
    ...successor,
    kind,
    name,
    provider,
    ...(aliases && { aliases }),
    ...(display_name !== undefined && { display_name }),
    ...(created !== undefined && { created }),
    ...(retires_on !== undefined && { retires_on }),
  }
}
