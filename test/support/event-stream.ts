// Server-sent events as the HTML standard reads them, for a body that is there as a whole.

import assert from 'node:assert/strict'

export type ReceivedEvent = { name: string | undefined; data: string }

export function readEventStream(body: string): ReceivedEvent[] {
  assert.ok(body === '' || body.endsWith('\n\n'), 'an event without its empty line is never read')
  return body
    .split('\n\n')
    .map((block) => block.split('\n').filter((line) => line !== '' && !line.startsWith(':')))
    .filter((lines) => lines.length > 0)
    .map((lines) => {
      const valuesOf = (field: string) =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).replace(/^ /, ''))
      return { name: valuesOf('event')[0], data: valuesOf('data').join('\n') }
    })
}
