// OpenAI's Codex, the real program: its package has a lock file of its own beside the tests, since 390 MB are too much
// for everybody who only starts the service. Installed where its tests are to run, else they say that they were skipped.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'

const FOLDER = path.resolve('test/clients/codex')
const PROGRAM = path.join(FOLDER, 'node_modules/.bin/codex')
const INSTALL_LIMIT_MS = 600_000
const RUN_LIMIT_MS = 60_000

/** Before the tests of these files start. */
export function installCodex(files: readonly string[]): void {
  const wanted = files.some((file) => file.includes(path.join('clients', 'codex')))
  if (!wanted || existsSync(PROGRAM)) return
  process.stderr.write('installing codex\n')
  spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: INSTALL_LIMIT_MS,
  })
}

/** For node:test's `skip`: false, or the reason. */
export function skipWithoutCodex(): string | false {
  const started = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' })
  return started.status === 0 ? false : 'codex is not installed'
}

export type CodexEvent = {
  type: string
  thread_id?: string
  item?: { type: string; text?: string; aggregated_output?: string; exit_code?: number | null }
}

/** Runs `codex exec` to its end and returns the events it printed; fails where it does. */
export async function runCodex(
  args: readonly string[],
  place: { cwd: string; env: Record<string, string> },
): Promise<CodexEvent[]> {
  const child = spawn(PROGRAM, ['exec', ...args], {
    ...place,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const [output, complaints, code] = await Promise.all([
    readText(child.stdout),
    readText(child.stderr),
    new Promise((resolve) => child.on('close', resolve)),
  ])
  if (code !== 0) throw new Error(`codex ended with ${String(code)}: ${output}${complaints}`)
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as CodexEvent)
}

async function readText(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const piece of stream) text += String(piece)
  return text
}
