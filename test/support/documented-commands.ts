// The shell commands of a page, run as they stand, one block after the other; `# export NAME=<field>` does what the
// reader is told to do with the reply.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { atEnd } from './cleanup.ts'
import { launch, ROOT } from './service.ts'

// A refusal fails the command. Several commands of a block print one line each.
const PRELUDE = `set -eu
curl() { command curl --fail-with-body -w '\\n' "$@"; }
touch "$KEPT"
. "$KEPT"
set -a
`

export type Page = {
  file: string
  /** What stands on the page for an address that only the test knows. */
  addresses: Record<string, string>
  isWanted?: (block: string) => boolean
  /** The fields of a reply; those of its JSON unless told otherwise. */
  readFields?: (line: string) => Promise<Record<string, unknown>>
  /** Runs a block in its own way: one that does not end by itself. Answers whether it did. */
  runApart?: (block: string, start: () => ReturnType<typeof launch>) => Promise<boolean>
  afterEach?: () => Promise<void>
}

/** Answers what each block printed. */
export async function followPage(page: Page): Promise<string[][]> {
  const { run, start } = openShell(page.addresses)
  const readFields = page.readFields ?? (async (line: string) => JSON.parse(line) as object)
  const replies: string[][] = []
  const text = readFileSync(path.join(ROOT, page.file), 'utf8')
  for (const [, block = ''] of text.matchAll(/^ *```sh\n(.*?)^ *```$/gms)) {
    if (page.isWanted?.(block) === false) continue
    if (await page.runApart?.(block, () => start(block))) continue
    const lines = await run(block)
    replies.push(lines)
    await page.afterEach?.()
    const exports = [...block.matchAll(/^ *# export (\w+)=<(\w+)>$/gm)]
    if (exports.length === 0) continue
    const fields: Record<string, unknown> = { ...(await readFields(lines.at(-1) ?? '')) }
    for (const [, name, field = ''] of exports) {
      const value = fields[field]
      assert.equal(typeof value, 'string', `${page.file}: no ${field} in ${JSON.stringify(fields)}`)
      await run(`${name}='${String(value)}'`)
    }
  }
  return replies
}

/** A shell that remembers its variables from block to block. */
function openShell(addresses: Page['addresses']) {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-docs-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const KEPT = path.join(folder, 'variables')
  const start = (block: string) => {
    let commands = block
    for (const [written, real] of Object.entries(addresses)) {
      commands = commands.replaceAll(written, real)
    }
    const script = `${PRELUDE}${commands}\nexport -p > "$KEPT"\n`
    return launch(['sh', '-c', script], { KEPT }, { cwd: ROOT })
  }
  const run = async (block: string): Promise<string[]> => {
    const program = start(block)
    const { code } = await program.end()
    assert.equal(code, 0, `${block}\n${program.output()}`)
    return program
      .stdout()
      .split('\n')
      .filter((line) => line !== '')
  }
  return { run, start }
}
