// What an audio call needs: ElevenLabs, and a model of its kind.

import type { AudioModel, Catalog } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import type { InputParts } from '../input-call.ts'
import type { Elevenlabs } from '../upstreams/elevenlabs/elevenlabs.ts'
import type { Uploads } from './upload.ts'

export type AudioParts = InputParts & {
  /** Undefined: there is no credential for it. */
  elevenlabs: Elevenlabs | undefined
  uploads: Uploads
}

export function requireAudioModel(
  catalog: Catalog,
  name: string,
  kind: AudioModel['kind'],
): AudioModel {
  const model = catalog.find(name)
  if (model?.kind === kind) return model
  const names = catalog.list().filter((one) => one.kind === kind)
  throw new ApiError('model_not_found', {
    message: `There is no ${kind} model ${JSON.stringify(name.slice(0, 100))}.`,
    hint: `Use one of: ${names.map((one) => one.name).join(', ')}.`,
    param: 'model',
  })
}

export function requireElevenlabs({ elevenlabs }: AudioParts): Elevenlabs {
  if (elevenlabs) return elevenlabs
  throw new ApiError('provider_misconfigured', { detail: 'no key for elevenlabs' })
}
