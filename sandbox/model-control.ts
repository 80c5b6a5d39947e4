// The control API of the AI providers' models, under an address that no provider has: a test retires
// a model, or announces that it will be.

import { PROVIDERS } from './call.ts'
import { parseJson } from './json.ts'
import { jsonReply, type Reply } from './reply.ts'
import {
  type KnownModels,
  lifeOf,
  type Retirements,
  readRetirement,
  removeRetirement,
  setRetirement,
} from './retirement.ts'

export const MODEL_CONTROL_PATH = '/_sandbox/models'

type ControlCall = { method: string; body: string }

export function controlModels(
  { method, body }: ControlCall,
  retirements: Retirements,
  known: KnownModels,
): Reply {
  if (method === 'DELETE') retirements.clear()
  else if (method === 'POST') {
    const wish = readRetirement(parseJson(body), known)
    if ('problem' in wish) return jsonReply(400, { error: wish.problem })
    const { retires_on } = wish
    if (retires_on === null) removeRetirement(retirements, wish)
    else setRetirement(retirements, { ...wish, retires_on })
  } else if (method !== 'GET') {
    return jsonReply(405, { error: `GET, POST or DELETE ${MODEL_CONTROL_PATH}` })
  }
  return jsonReply(200, { models: listLives(retirements, known) })
}

function listLives(retirements: Retirements, known: KnownModels) {
  return PROVIDERS.flatMap((provider) =>
    known[provider].map((model) => ({ provider, model, ...lifeOf(retirements, provider, model) })),
  )
}
