// Installs what is missing before a start or a test, so that a fresh clone needs one command. Runs on the
// Node that the machine has, before the project's own Node is there; hence plain JavaScript.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const STAMP = 'node_modules/.svc-installed'

const wanted = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex')
const installed = existsSync(STAMP) ? readFileSync(STAMP, 'utf8') : ''

if (installed !== wanted) {
  process.stderr.write('svc: installing packages (once)\n')
  const npm = process.env.npm_execpath
  // Development packages too, whatever NODE_ENV says: the Node to run on is one of them.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const result = npm
    ? spawnSync(process.execPath, [npm, ...args], { stdio: 'inherit' })
    : spawnSync('npm', args, { stdio: 'inherit' })
  if (result.status !== 0) process.exit(result.status ?? 1)
  writeFileSync(STAMP, wanted)
}
