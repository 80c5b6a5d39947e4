// A log that a test can read back.

import { Writable } from 'node:stream'
import { createLog } from '../../src/platform/log.ts'

export type LogLine = { level: string; msg: string; [field: string]: unknown }

export function collectLog(level = 'info') {
  const texts: string[] = []
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      texts.push(chunk.toString())
      done()
    },
  })
  return {
    log: createLog({ level, destination }),
    /** What was written, as it stands in the file. */
    text: () => texts.join(''),
    lines: (): LogLine[] =>
      texts
        .join('')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LogLine),
  }
}
