// The OpenAI stand-in: which path is answered by what, and the model list.

import { type Call, isRefusedKey, modelLife, readBearer, type StandIn } from '../call.ts'
import { decodePercent } from '../json.ts'
import { jsonReply, type Outcome, plainOutcome } from '../reply.ts'
import { answerChat } from './chat.ts'
import { answerEmbeddings, EMBEDDING_MODELS, findEmbeddingModel } from './embeddings.ts'
import {
  badRequest,
  errorReply,
  MISSING_KEY,
  openaiHeaders,
  unknownModel,
  wrongKey,
} from './errors.ts'
import { OPENAI_MODELS } from './models.ts'
import { answerResponse } from './responses/create.ts'
import { findServed, refuse } from './served.ts'

type ListedModel = { id: string; created: number }

const ALL_MODELS: readonly ListedModel[] = [...OPENAI_MODELS, ...EMBEDDING_MODELS]

const POSTS: Readonly<Record<string, (call: Call) => Outcome>> = {
  '/v1/chat/completions': answerChat,
  '/v1/responses': answerResponse,
  '/v1/embeddings': answerEmbeddings,
}

export const openaiStandIn: StandIn = {
  model_ids: ALL_MODELS.map((model) => model.id),
  max_body_bytes: 64 * 1_048_576,
  handle(call) {
    const key = readBearer(call)
    if (key === '') return refuse(call, MISSING_KEY)
    if (isRefusedKey(key)) return refuse(call, wrongKey(key))
    const post = Object.hasOwn(POSTS, call.path) ? POSTS[call.path] : undefined
    if (post !== undefined) return call.method === 'POST' ? post(call) : wrongMethod(call)
    if (call.path === '/v1/models' && call.method === 'GET') return listModels(call)
    if (call.path.startsWith('/v1/models/') && call.method === 'GET') return showModel(call)
    const message = `Invalid URL (${call.method} ${call.path})`
    return refuse(call, { ...badRequest(message, null, null), status: 404 })
  },
  refuseTooLarge(call) {
    const error = badRequest('Request body is too large.', null, null)
    return errorReply({ ...error, status: 413 }, openaiHeaders(call))
  },
}

function wrongMethod(call: Call): Outcome {
  const message = `Not allowed to ${call.method} on ${call.path}. (HINT: Perhaps you meant to use a different HTTP method?)`
  return refuse(call, { ...badRequest(message, null, null), status: 405 })
}

function listModels(call: Call): Outcome {
  const served = ALL_MODELS.filter((model) => findListed(call, model.id) !== undefined)
  const body = { object: 'list', data: served.map((model) => describeModel(call, model)) }
  return plainOutcome(jsonReply(200, body, openaiHeaders(call)))
}

function showModel(call: Call): Outcome {
  const name = decodePercent(call.path.slice('/v1/models/'.length))
  const model = findListed(call, name)
  if (model === undefined) return refuse(call, unknownModel(name))
  return plainOutcome(jsonReply(200, describeModel(call, model), openaiHeaders(call)))
}

function describeModel(call: Call, { id, created }: ListedModel) {
  const shutdown_date = modelLife(call, id).retires_on
  return { id, object: 'model', created, owned_by: 'system', shutdown_date }
}

function findListed(call: Call, name: string): ListedModel | undefined {
  return findServed(call, name) ?? findEmbeddingModel(call, name)
}
