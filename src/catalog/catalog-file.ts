// CATALOG_FILE: `{ "models": { "<public name>": { … } } }`. A name of the price list takes the given fields
// and keeps the others; a new name is a new model and needs them all. `prices`, `capabilities`, `image_tokens` and
// `successor` are merged field by field, `long_prompt` is replaced whole, `aliases` are added, and null removes what is
// optional. What belongs to an upstream id goes with it: another `upstream_id` ends the listed retirement, and one in
// `successor` the rest of the listed successor.
// A wrong file stops the start with one line that names the file, the model and the field.

import { readFileSync, statSync } from 'node:fs'
import { toJson } from '../platform/money.ts'
import { FieldFault, toModel } from './catalog-entry.ts'
import type { Model } from './models.ts'

const FILE_BYTES_MAX = 1_000_000
const MERGED_FIELDS = ['prices', 'capabilities', 'image_tokens', 'successor']

type Fields = Readonly<Record<string, unknown>>

export class CatalogFileError extends Error {}

export function applyCatalogFile(listed: readonly Model[], file: string): readonly Model[] {
  const models = new Map(listed.map((model) => [model.name, model]))
  const entries = Object.entries(readModels(file))
  for (const [name, given] of entries) {
    try {
      models.set(name, readModel(name, given, models.get(name)))
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error
      throw fileError(file, `model ${JSON.stringify(name)}: ${error.message}`)
    }
  }
  try {
    return settleNames([...models.values()], entries)
  } catch (error) {
    if (!(error instanceof FieldFault)) throw error
    throw fileError(file, error.message)
  }
}

/** A name or an alias of the file beats an alias of the list, and nothing else. */
function settleNames(
  models: readonly Model[],
  entries: readonly (readonly [name: string, given: unknown])[],
): Model[] {
  const owners = new Map(models.map(({ name }) => [name, name]))
  for (const [name, given] of entries) {
    for (const alias of toList(isFields(given) ? given['aliases'] : undefined)) {
      const owner = owners.get(String(alias)) ?? name
      if (owner !== name) {
        const [here, there] = [name, owner].map((one) => JSON.stringify(one))
        throw new FieldFault(`model ${here}: aliases: ${JSON.stringify(alias)} is one of ${there}`)
      }
      owners.set(String(alias), name)
    }
  }
  const isOwn = (name: string) => (alias: string) =>
    alias !== name && (owners.get(alias) ?? name) === name
  return models.map((model) =>
    model.aliases ? { ...model, aliases: model.aliases.filter(isOwn(model.name)) } : model,
  )
}

function readModels(file: string): Fields {
  let content: unknown
  try {
    if (statSync(file).size > FILE_BYTES_MAX) throw new Error('it is larger than a megabyte')
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw fileError(file, `cannot be read: ${reason}`)
  }
  const models = isFields(content) ? content['models'] : undefined
  if (!isFields(content) || !isFields(models) || Object.keys(content).length !== 1) {
    throw fileError(file, 'must hold one object, { "models": { "<name>": { … } } }')
  }
  return models
}

function readModel(name: string, given: unknown, listed: Model | undefined): Model {
  if (!isFields(given)) throw new FieldFault('must be an object of fields')
  if ('name' in given) throw new FieldFault('name is not a field: the key is the name')
  return toModel(mergeModel(listed ? toFields(listed) : {}, { ...given, name }))
}

function toFields(model: Model): Fields {
  const fields: unknown = JSON.parse(toJson(model))
  return isFields(fields) ? fields : {}
}

function mergeModel(listed: Fields, given: Fields): Fields {
  const { aliases: listed_aliases, ...fields } = listed
  const moves = 'upstream_id' in given && given['upstream_id'] !== fields['upstream_id']
  const { retires_on: _day, successor: _successor, ...moved } = fields
  const merged = mergeFields(moves ? moved : fields, given)
  const { aliases } = given
  if (aliases === null || (aliases !== undefined && !Array.isArray(aliases))) return merged
  const all = new Set<unknown>([...toList(listed_aliases), ...toList(aliases)])
  return all.size === 0 ? merged : { ...merged, aliases: [...all] }
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function mergeFields(listed: Fields, given: Fields): Fields {
  const merged: Record<string, unknown> = { ...listed }
  for (const [field, value] of Object.entries(given)) {
    const before = merged[field]
    if (value === null) delete merged[field]
    else if (!MERGED_FIELDS.includes(field) || !isFields(before) || !isFields(value)) {
      merged[field] = value
    } else merged[field] = isAnotherModel(before, value) ? value : mergeFields(before, value)
  }
  return merged
}

/** Its prices and limits would be those of the one before. */
function isAnotherModel(before: Fields, given: Fields): boolean {
  return 'upstream_id' in given && given['upstream_id'] !== before['upstream_id']
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fileError(file: string, fault: string): CatalogFileError {
  return new CatalogFileError(`CATALOG_FILE=${file}: ${fault}`)
}
