// The version of the program, as its package says.

import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(text) as { version: string }

export const VERSION = version
