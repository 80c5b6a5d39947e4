// Real servers that tests speak to and npm does not carry. As root they are installed when missing; otherwise
// the tests that need them say that they were skipped, and why.

import { spawnSync } from 'node:child_process'

/** The programs that would do, best first, each in Debian's package of the same name. */
const PARTS = {
  'redis-server': ['redis-server'],
  // The first has nothing that draws a window: half the processor time for the same pages.
  chromium: ['chromium-headless-shell', 'chromium'],
  pgbouncer: ['pgbouncer'],
} as const

/** Where Debian puts servers; not every user has it in the PATH. */
const SERVERS = '/usr/sbin'

export type SystemPart = keyof typeof PARTS

export function installSystemParts(): void {
  const missing = (Object.keys(PARTS) as SystemPart[]).filter(
    (part) => findPart(part) === undefined,
  )
  if (missing.length === 0) return
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    process.stderr.write(`tests that need ${missing.join(', ')} will be skipped: not installed\n`)
    return
  }
  process.stderr.write(`installing ${missing.join(', ')}\n`)
  const packages = missing.map((part) => PARTS[part][0])
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync('apt-get', ['update', '-qq'], { stdio: ['ignore', 'ignore', 'inherit'], env })
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env,
  })
}

/** The path of the program, or undefined. */
export function findPart(part: SystemPart): string | undefined {
  const env = { ...process.env, PATH: `${process.env['PATH']}:${SERVERS}` }
  const search = PARTS[part].map((program) => `command -v ${program}`).join(' || ')
  const found = spawnSync('sh', ['-c', search], { encoding: 'utf8', env })
  return found.status === 0 ? found.stdout.trim() : undefined
}

/** For node:test's `skip`: false, or the reason. */
export function skipWithout(part: SystemPart): string | false {
  return findPart(part) === undefined ? `${part} is not installed` : false
}
