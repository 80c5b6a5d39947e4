// What becomes of each field that a client sends. A dialect has one table of its fields: for each family of models
// a field is relayed as it is, translated, refused, or ignored. What is ignored is named in the reply, also a field
// that no table knows. The same tables write docs/compatibility.md.

import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import { FAMILIES, type Family, familyOf } from '../upstreams/model-family.ts'
import type { Fields } from './body-fields.ts'

/** `relay`: sent as it came, to providers of the client's own dialect. `translate`: read, and said in our words. */
export type Fate = 'relay' | 'translate' | 'ignore' | 'refuse'

export type FieldRule = {
  field: string
  fates: Readonly<Record<Family, Fate>>
  /** For people: why, or into what. */
  note: string | undefined
  /** What to do instead, where it is refused. */
  hint: string | undefined
  /** Whether the value asks for nothing: then it is neither refused nor named. */
  isIdle: ((value: unknown) => boolean) | undefined
}

export type FieldTable = ReadonlyMap<string, FieldRule>

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
  claude: 'anthropic',
  claude_adaptive: 'anthropic',
  gemini: 'google',
  gemini_3: 'google',
}

export function fieldTable(rows: Readonly<Record<string, Wanted>>): FieldTable {
  return new Map(Object.entries(rows).map(([field, row]) => [field, toRule(field, row)]))
}

/** The narrowest word counts: a family's, its provider's, the one for all. */
function toRule(field: string, row: Wanted): FieldRule {
  const { note, hint, isIdle } = row
  const fateOf = (family: Family): Fate => {
    const fate = row.families?.[family] ?? row[PROVIDER_OF[family]] ?? row.all
    if (fate === undefined) throw new Error(`${field} has no rule for ${family}`)
    return fate
  }
  const families = Object.keys(FAMILIES) as Family[]
  const fates = Object.fromEntries(families.map((family) => [family, fateOf(family)]))
  return { field, fates: fates as Record<Family, Fate>, note, hint, isIdle }
}

export type JudgedFields = { relayed: Fields; ignored: string[] }

/** Throws where a field is refused: ignoring it would change what is paid or what is meant. */
export function judgeFields(table: FieldTable, body: Fields, model: ChatModel): JudgedFields {
  const family = familyOf(model)
  const relayed: Record<string, unknown> = {}
  const ignored: string[] = []
  for (const [field, value] of Object.entries(body)) {
    if (value === null || value === undefined) continue
    const rule = table.get(field)
    const fate = rule?.fates[family] ?? 'ignore'
    if (fate === 'relay') relayed[field] = value
    else if (fate === 'translate' || rule?.isIdle?.(value)) continue
    else if (fate === 'ignore') ignored.push(field)
    else throw refusal(field, rule, model)
  }
  return { relayed, ignored }
}

function refusal(field: string, rule: FieldRule | undefined, model: ChatModel): ApiError {
  return new ApiError('bad_request', {
    message: `${field} is not supported by ${model.name}.`,
    hint: rule?.hint ?? 'Leave it out.',
    param: field,
  })
}
