// Lines of CSV as spreadsheets read them, and the reply that streams them.

import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Documents } from '../http/access.ts'

export type Cell = string | number | bigint | boolean | Date | null

export function formatLine(cells: readonly Cell[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

export function sendCsv(
  reply: FastifyReply,
  file: string,
  lines: AsyncGenerator<string>,
): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${file}"`)
    .send(Readable.from(lines))
}

/** For the documentation of a route that answers `format=csv`. */
export function describeCsv(columns: readonly string[]): Documents {
  const schema = { type: 'string', description: 'With `format=csv`; these columns.' }
  return { reply: { 'text/csv': { schema, example: formatLine(columns) } } }
}

function formatCell(value: Cell): string {
  if (value === null) return ''
  if (typeof value !== 'string' && !(value instanceof Date)) return String(value)
  const text = value instanceof Date ? value.toISOString() : value
  // A cell that starts like a formula would be run by a spreadsheet; the quote in front makes it text.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
