// A text that matches a regular expression, for schemas with `pattern`. It knows literals, classes,
// groups, alternatives and repetition, always takes the shortest way, and its result is checked:
// whoever asks for look-arounds or back references gets undefined and falls back to plain text.

const MAX_LENGTH = 2_000
const MAX_REPEATS = 200
const ESCAPES: Readonly<Record<string, string>> = { d: '1', w: 'a', s: ' ', D: 'a', W: '-', S: 'a' }
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }
const CANDIDATES = 'a1A-_ .@/:Z9éx'

type Cursor = { pattern: string; at: number }

export function textForPattern(pattern: string): string | undefined {
  let expression: RegExp
  try {
    expression = new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
  const text = readAlternatives({ pattern, at: 0 }).slice(0, MAX_LENGTH)
  return expression.test(text) ? text : undefined
}

/** The first alternative is taken; the others are only stepped over. */
function readAlternatives(cursor: Cursor): string {
  const first = readSequence(cursor)
  while (cursor.pattern[cursor.at] === '|') {
    cursor.at += 1
    readSequence(cursor)
  }
  return first
}

function readSequence(cursor: Cursor): string {
  let text = ''
  while (cursor.at < cursor.pattern.length && !'|)'.includes(cursor.pattern[cursor.at] ?? '|')) {
    const item = readItem(cursor)
    const repeats = readRepeats(cursor)
    text = (text + item.repeat(repeats)).slice(0, MAX_LENGTH)
  }
  return text
}

function readItem(cursor: Cursor): string {
  const char = cursor.pattern[cursor.at] ?? ''
  cursor.at += 1
  if (char === '^' || char === '$') return ''
  if (char === '.') return 'a'
  if (char === '\\') return readEscape(cursor)
  if (char === '[') return readClass(cursor)
  if (char === '(') return readGroup(cursor)
  return char
}

function readEscape(cursor: Cursor): string {
  const char = cursor.pattern[cursor.at] ?? ''
  cursor.at += 1
  if (char === 'b' || char === 'B') return ''
  return ESCAPES[char] ?? CONTROLS[char] ?? char
}

function readGroup(cursor: Cursor): string {
  const opening = /^\?(?::|<[A-Za-z]\w*>)/.exec(cursor.pattern.slice(cursor.at))
  cursor.at += opening?.[0].length ?? 0
  const text = readAlternatives(cursor)
  cursor.at += 1
  return text
}

/** Rather than reading the class, this asks the real engine which of some characters it allows. */
function readClass(cursor: Cursor): string {
  const start = cursor.at - 1
  while (cursor.at < cursor.pattern.length && cursor.pattern[cursor.at] !== ']') {
    cursor.at += cursor.pattern[cursor.at] === '\\' ? 2 : 1
  }
  cursor.at += 1
  const source = cursor.pattern.slice(start, cursor.at)
  const allowed = new RegExp(source, 'u')
  const members = Array.from(source.slice(1, -1)).filter((char) => !'^\\-'.includes(char))
  return [...Array.from(CANDIDATES), ...members].find((char) => allowed.test(char)) ?? ''
}

function readRepeats(cursor: Cursor): number {
  const rest = cursor.pattern.slice(cursor.at)
  const quantifier = /^(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/.exec(rest)
  if (quantifier === null) return 1
  cursor.at += quantifier[0].length
  if (quantifier[1] !== undefined) return Math.min(Number(quantifier[1]), MAX_REPEATS)
  return quantifier[0].startsWith('+') ? 1 : 0
}
