// Reading values of unknown shape. A stand-in must look at every field before it trusts it, because
// saying what is wrong with a request is half of its work.

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The texts among the values of a list, which may also be given as one text. */
export function textsOf(value: unknown): readonly string[] {
  const values = typeof value === 'string' ? [value] : listOf(value)
  return values.filter((item) => typeof item === 'string')
}

/** Undefined when the text is not JSON: no JSON text means undefined. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/** A part of an address as it was meant; left as it is when its percent signs mean nothing. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A long list of plain words, without the noise of quoting each. */
export function wordList(words: string): readonly string[] {
  return words.trim().split(/\s+/)
}
