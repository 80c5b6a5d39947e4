// Changes single members of a JSON object in its text, so that everything else stays byte for byte as the
// provider wrote it (numbers beyond 2^53, key order, white space) and a relayed chunk is never parsed. Walks
// the text without recursion. Text that is not a JSON object has no members.

export type Member = {
  /** Of the key's opening quote. */
  start: number
  valueStart: number
  /** One past the value's last character. */
  valueEnd: number
}

/** The member of the object that begins at `from`; keys of objects inside it do not count. */
export function findMember(text: string, key: string, from = 0): Member | undefined {
  let at = skipSpace(text, from)
  if (text[at] !== '{') return undefined
  for (;;) {
    const start = skipSpace(text, at + 1)
    if (text[start] !== '"') return undefined
    const keyEnd = endOfString(text, start)
    const colon = skipSpace(text, keyEnd)
    if (text[colon] !== ':') return undefined
    const valueStart = skipSpace(text, colon + 1)
    const valueEnd = endOfValue(text, valueStart)
    if (keyEnd - start === key.length + 2 && text.startsWith(key, start + 1)) {
      return { start, valueStart, valueEnd }
    }
    at = skipSpace(text, valueEnd)
    if (text[at] !== ',') return undefined
  }
}

export function replaceValue(text: string, member: Member, json: string): string {
  return text.slice(0, member.valueStart) + json + text.slice(member.valueEnd)
}

/** With the comma that parts it from its neighbour. */
export function removeMember(text: string, member: Member): string {
  const next = skipSpace(text, member.valueEnd)
  if (text[next] === ',') return text.slice(0, member.start) + text.slice(skipSpace(text, next + 1))
  const before = text.slice(0, member.start).trimEnd()
  return (before.endsWith(',') ? before.slice(0, -1) : before) + text.slice(member.valueEnd)
}

/** Adds a member at the end; undefined if the text does not end as an object does. */
export function appendMember(text: string, key: string, json: string): string | undefined {
  const end = text.lastIndexOf('}')
  if (end === -1 || text.slice(end + 1).trim() !== '') return undefined
  const before = text.slice(0, end).trimEnd()
  const comma = before.endsWith('{') ? '' : ','
  return `${before}${comma}"${key}":${json}${text.slice(end)}`
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && ' \n\r\t'.includes(text[at] ?? '')) at += 1
  return at
}

/** One past the closing quote; past the end of the text if there is none. */
function endOfString(text: string, open: number): number {
  let quote = text.indexOf('"', open + 1)
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote === -1 ? text.length : quote + 1
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0
  while (text[quote - 1 - backslashes] === '\\') backslashes += 1
  return backslashes % 2 === 1
}

function endOfValue(text: string, from: number): number {
  const first = text[from]
  if (first === '"') return endOfString(text, from)
  if (first === '{' || first === '[') return endOfContainer(text, from)
  let at = from
  while (at < text.length && !',}] \n\r\t'.includes(text[at] ?? '')) at += 1
  return at
}

function endOfContainer(text: string, open: number): number {
  let depth = 0
  let at = open
  while (at < text.length) {
    const character = text[at]
    if (character === '"') {
      at = endOfString(text, at)
      continue
    }
    if (character === '{' || character === '[') depth += 1
    if (character === '}' || character === ']') depth -= 1
    at += 1
    if (depth === 0) return at
  }
  return at
}
