// Names and ids of tools, as far as providers differ in what they take. A name that does not fit is
// replaced by one that does, the same every time, and is turned back in the answer.

import { createHash } from 'node:crypto'

export type NameRule = { pattern: RegExp; max_length: number }

export type ToolNames = {
  toProvider(name: string): string
  toClient(name: string): string
}

const MARK_LENGTH = 8

export function createToolNames(rule: NameRule): ToolNames {
  const originals = new Map<string, string>()
  return {
    toProvider(name) {
      if (fits(name, rule)) return name
      const stem = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').replace(/^[^A-Za-z_]/, '_')
      const fitted = `${stem.slice(0, rule.max_length - MARK_LENGTH - 1)}_${markOf(name)}`
      originals.set(fitted, name)
      return fitted
    },
    toClient: (name) => originals.get(name) ?? name,
  }
}

/** Ids are made up again by no one, so they need no way back: a call and its result just agree. */
export function fitToolId(id: string, max_length: number): string {
  const good = fits(id, { pattern: /^[A-Za-z0-9_-]+$/, max_length })
  return good ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}

function fits(text: string, { pattern, max_length }: NameRule): boolean {
  return text.length <= max_length && pattern.test(text)
}

function markOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, MARK_LENGTH)
}
