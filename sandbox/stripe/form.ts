// Reads form-encoded parameters with brackets, as Stripe takes them in bodies and queries:
// `metadata[payout_id]=po_1&expand[]=destination&line_items[0][quantity]=1`.

import { isObject, type JsonObject } from '../json.ts'
import { badRequest } from './errors.ts'

const MAX_FIELDS = 1_000
const MAX_DEPTH = 8

export function decodeForm(text: string): JsonObject {
  const root = emptyObject()
  let count = 0
  for (const [name, value] of new URLSearchParams(text)) {
    count += 1
    if (count > MAX_FIELDS) throw badRequest(`At most ${MAX_FIELDS} parameters are allowed.`)
    place(root, splitName(name), value)
  }
  return toLists(root)
}

/** `a[b][]` is the path a, b and the next free number. */
function splitName(name: string): string[] {
  const open = name.indexOf('[')
  if (open === -1) return [name]
  const inner = [...name.slice(open).matchAll(/\[([^\][]*)\]/g)].map(([, part = '']) => part)
  const path = [name.slice(0, open), ...inner]
  if (path.length > MAX_DEPTH) throw badRequest(`Invalid parameter name: ${name}`)
  return path
}

function place(root: JsonObject, path: readonly string[], value: string): void {
  let at = root
  for (const [depth, part] of path.entries()) {
    const name = part === '' && depth > 0 ? String(Object.keys(at).length) : part
    if (depth === path.length - 1) {
      at[name] = value
      return
    }
    const known = at[name]
    const next = isObject(known) ? known : emptyObject()
    at[name] = next
    at = next
  }
}

/** Objects whose names are 0, 1, 2 … are lists. */
function toLists(object: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(object)) {
    if (!isObject(value)) continue
    const inner = toLists(value)
    const names = Object.keys(inner)
    const is_list = names.length > 0 && names.every((key, at) => key === String(at))
    object[name] = is_list ? Object.values(inner) : inner
  }
  return object
}

/** Without a prototype, so that no name a client sends means anything to the language. */
function emptyObject(): JsonObject {
  const object: JsonObject = Object.create(null)
  return object
}
