// What becomes of each field that a client sends. A dialect has one table of its fields: for each family of models
// a field is relayed as it is, translated, refused, or ignored. What is ignored is named in the reply, also a field
// that no table knows. Fields inside others have rows of their own, under paths such as `messages[].name`. The same
// tables write docs/compatibility.md.

import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import { FAMILIES, type Family, familyOf } from '../upstreams/model-family.ts'
import { type Fields, isAbsent, isObject } from './body-fields.ts'

/** `relay`: sent as it came, to providers of the client's own dialect. `translate`: read, and said in our words. */
export type Fate = 'relay' | 'translate' | 'ignore' | 'refuse'

export type FieldRule = {
  /** Its path: `messages[].name` is a field of each message. */
  field: string
  fates: Readonly<Record<Family, Fate>>
  /** For people: why, or into what. */
  note: string | undefined
  /** What to do instead, where it is refused. */
  hint: string | undefined
  /** Whether the value asks for nothing: then it is neither refused nor named. */
  isIdle: ((value: unknown) => boolean) | undefined
}

export type FieldTable = { rules: readonly FieldRule[]; shape: Shape }

/** The fields of one kind of object in a body. */
type Shape = {
  path: string
  /** Whether a field that is not here is unknown; otherwise it goes with what it stands in. */
  is_closed: boolean
  fields: Map<string, Place>
}

/** A field without a rule of its own goes with what it stands in. */
type Place = { rule: FieldRule | undefined; inside: Shape | undefined }

type Wanted = {
  all?: Fate
  openai?: Fate
  anthropic?: Fate
  google?: Fate
  families?: Partial<Record<Family, Fate>>
  note?: string
  hint?: string
  isIdle?: (value: unknown) => boolean
}

const PROVIDER_OF: Readonly<Record<Family, 'openai' | 'anthropic' | 'google'>> = {
  gpt: 'openai',
  gpt_reasoning: 'openai',
  gpt_5_6: 'openai',
  gpt_responses: 'openai',
  claude: 'anthropic',
  claude_adaptive: 'anthropic',
  gemini: 'google',
  gemini_3: 'google',
}

/** Where a row says nothing of a family, it is as the first of these that it says something of. */
const LIKE: Partial<Record<Family, readonly Family[]>> = {
  gpt_5_6: ['gpt_reasoning'],
  gpt_responses: ['gpt_5_6', 'gpt_reasoning'],
}

/**
 * `known` names, for objects inside the body, the fields that need no row because they go with what they stand in,
 * separated by spaces: with it every other field of such an object is unknown.
 */
export function fieldTable(
  rows: Readonly<Record<string, Wanted>>,
  known: Readonly<Record<string, string>> = {},
): FieldTable {
  const root: Shape = { path: '', is_closed: true, fields: new Map() }
  const rules = Object.entries(rows).map(([field, row]) => toRule(field, row))
  for (const rule of rules) placeOf(root, rule.field).rule = rule
  for (const [path, names] of Object.entries(known)) {
    const inside = shapeOf(root, path)
    inside.is_closed = true
    for (const name of names.split(' ')) placeOf(root, `${path}.${name}`)
  }
  return { rules, shape: root }
}

function placeOf(root: Shape, path: string): Place {
  const at = path.lastIndexOf('.')
  const { fields } = at === -1 ? root : shapeOf(root, path.slice(0, at))
  const name = path.slice(at + 1).replace('[]', '')
  const place = fields.get(name) ?? { rule: undefined, inside: undefined }
  fields.set(name, place)
  return place
}

function shapeOf(root: Shape, path: string): Shape {
  const place = placeOf(root, path)
  place.inside ??= { path: `${path}.`, is_closed: false, fields: new Map() }
  return place.inside
}

/** The narrowest word counts: a family's, its provider's, the one for all. */
function toRule(field: string, row: Wanted): FieldRule {
  const { note, hint, isIdle } = row
  const fateOfFamily = (family: Family): Fate => {
    const told = [family, ...(LIKE[family] ?? [])].find((like) => row.families?.[like])
    const own = told && row.families?.[told]
    const fate = own ?? row[PROVIDER_OF[family]] ?? row.all
    if (fate === undefined) throw new Error(`${field} has no rule for ${family}`)
    return fate
  }
  const families = Object.keys(FAMILIES) as Family[]
  const fates = Object.fromEntries(families.map((family) => [family, fateOfFamily(family)]))
  return { field, fates: fates as Record<Family, Fate>, note, hint, isIdle }
}

export type JudgedFields = { relayed: Fields; ignored: string[] }

type Hearing = { model: ChatModel; family: Family; ignored: Set<string> }

/** Throws where a field is refused: ignoring it would change what is paid or what is meant. */
export function judgeFields(table: FieldTable, body: Fields, model: ChatModel): JudgedFields {
  const hearing = { model, family: familyOf(model), ignored: new Set<string>() }
  const relayed = judgeObject(table.shape, body, hearing)
  return { relayed, ignored: [...hearing.ignored] }
}

/** What of it may be relayed. As deep as the table, whatever the body is. */
function judgeObject(shape: Shape, object: Fields, hearing: Hearing): Fields {
  const relayed: Record<string, unknown> = {}
  for (const name of Object.keys(object)) {
    const value = object[name]
    const place = shape.fields.get(name)
    const fate = judge({ shape, name, place, value }, hearing)
    if (fate === 'ignore') continue
    const judged = place?.inside ? judgeInside(place.inside, value, hearing) : value
    if (fate === 'relay') relayed[name] = judged
  }
  return relayed
}

function judgeInside(shape: Shape, value: unknown, hearing: Hearing): unknown {
  if (isObject(value)) return judgeObject(shape, value, hearing)
  if (!Array.isArray(value)) return value
  return value.map((entry: unknown) =>
    isObject(entry) ? judgeObject(shape, entry, hearing) : entry,
  )
}

type Found = { shape: Shape; name: string; place: Place | undefined; value: unknown }

function judge({ shape, name, place, value }: Found, hearing: Hearing): Fate {
  const rule = place?.rule
  if (rule === undefined && (place !== undefined || !shape.is_closed)) return 'relay'
  if (isAbsent(value)) return 'ignore'
  const fate = rule?.fates[hearing.family] ?? 'ignore'
  if (fate === 'relay' || fate === 'translate' || rule?.isIdle?.(value)) return fate
  const field = rule?.field ?? `${shape.path}${name}`
  if (fate === 'refuse') throw refusal(field, rule, hearing.model)
  hearing.ignored.add(field)
  return fate
}

function refusal(field: string, rule: FieldRule | undefined, model: ChatModel): ApiError {
  return new ApiError('bad_request', {
    message: `${field} is not supported by ${model.name}.`,
    hint: rule?.hint ?? 'Leave it out.',
    param: field,
  })
}
