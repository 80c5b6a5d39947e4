// Predicted outputs: an answer that the caller expects to be much like a text it already has. Only
// the gpt-4o family takes it, and the documentation names what it does not go together with.

import { isAbsent, isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts'
import { splitTokens } from '../tokens.ts'
import { badRequest, type OpenaiError } from './errors.ts'
import type { OpenaiModel } from './models.ts'

// The guide also names max_completion_tokens; whether that is refused or ignored is not documented,
// so it is taken here.
const NOT_BESIDE = ['logprobs', 'audio', 'tools', 'functions']

export type PredictionUse = { accepted_tokens: number; rejected_tokens: number }

export function checkPrediction(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const prediction = body['prediction']
  if (isAbsent(prediction)) return undefined
  if (!model.predicts) {
    const message = "Unsupported parameter: 'prediction' is not supported with this model."
    return badRequest(message, 'prediction', 'unsupported_parameter')
  }
  if (!isObject(prediction) || prediction['type'] !== 'content') {
    const message = `Invalid value: '${textOf(objectOf(prediction)['type'])}'. Supported values are: 'content'.`
    return badRequest(message, 'prediction.type', 'invalid_value')
  }
  const several = (numberOf(body['n']) ?? 1) > 1 ? 'n' : undefined
  const penalty = ['presence_penalty', 'frequency_penalty'].find((name) => {
    return (numberOf(body[name]) ?? 0) > 0
  })
  const name = NOT_BESIDE.find((field) => isUsed(body[field])) ?? several ?? penalty
  if (name === undefined) return undefined
  // The documentation says that these are not supported together; the wording is not documented.
  const message = `Unsupported parameter: '${name}' is not supported with predicted outputs.`
  return badRequest(message, name, 'unsupported_parameter')
}

/** What of the prediction came true up to its first mistake; the rest was in vain, and is billed. */
export function usePrediction(body: JsonObject, answer: string): PredictionUse {
  const predicted = splitTokens(readPrediction(body))
  const written = splitTokens(answer)
  const mistake = predicted.findIndex((token, at) => written[at] !== token)
  const accepted_tokens = mistake === -1 ? predicted.length : mistake
  return { accepted_tokens, rejected_tokens: predicted.length - accepted_tokens }
}

function readPrediction(body: JsonObject): string {
  const content = objectOf(body['prediction'])['content']
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(objectOf(part)['text']))
    .join('')
}

function isUsed(value: unknown): boolean {
  return !isAbsent(value) && value !== false
}
