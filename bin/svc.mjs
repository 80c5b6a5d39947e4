#!/usr/bin/env node
// `npx svc …`: hands over to the command line on the project's own Node, whatever Node runs this file.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const node = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
const command = fileURLToPath(new URL('../src/bin/svc.ts', import.meta.url))

if (!existsSync(node)) {
  process.stderr.write('svc: packages are not installed; run `npm ci` first\n')
  process.exit(1)
}
const cache = fileURLToPath(new URL('../node_modules/.cache/node', import.meta.url))
const { config } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const child = spawn(node, [...config.node_flags.split(' '), command, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { NODE_COMPILE_CACHE: cache, ...process.env },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
