// What a stranger copies from the documentation works: the commands are run in a shell as they stand, one after
// the other, and `# export NAME=<field>` does what the reader is told to do with the reply.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { consentAt, createListeningApp } from '../support/listening-app.ts'
import { ROOT, runToEnd } from '../support/service.ts'

const service = await createListeningApp()
const user = await service.register()

// A refusal fails the command. Several commands of a block print one line each.
const PRELUDE = `set -eu
curl() { command curl --fail-with-body -w '\\n' "$@"; }
touch "$KEPT"
. "$KEPT"
set -a
`

/** A shell that remembers its variables from block to block. */
function openShell() {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-docs-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const KEPT = path.join(folder, 'variables')
  return async (block: string): Promise<string[]> => {
    const commands = block.replaceAll('http://localhost:8080', service.address)
    const script = `${PRELUDE}${commands}\nexport -p > "$KEPT"\n`
    const { code, stdout, stderr } = await runToEnd(['sh', '-c', script], { KEPT })
    assert.equal(code, 0, `${commands}\n${stdout}${stderr}`)
    return stdout.split('\n').filter((line) => line !== '')
  }
}

/** Runs the blocks of a page and answers what each printed. */
async function follow(page: string, isWanted: (block: string) => boolean): Promise<string[][]> {
  const run = openShell()
  const replies: string[][] = []
  const text = readFileSync(path.join(ROOT, page), 'utf8')
  for (const [, block = ''] of text.matchAll(/^```sh\n(.*?)^```$/gms)) {
    if (!isWanted(block)) continue
    const lines = await run(block)
    replies.push(lines)
    const exports = [...block.matchAll(/^# export (\w+)=<(\w+)>$/gm)]
    if (exports.length === 0) continue
    const fields = await readFields(lines.at(-1) ?? '')
    for (const [, name, field = ''] of exports) {
      const value = fields[field]
      assert.equal(typeof value, 'string', `${page}: no ${field} in ${JSON.stringify(fields)}`)
      await run(`${name}='${String(value)}'`)
    }
  }
  return replies
}

/** What the reader takes from a reply, or from the address to which an authorize link leads in the end. */
async function readFields(line: string): Promise<Record<string, unknown>> {
  if (!line.startsWith('http')) return JSON.parse(line) as Record<string, unknown>
  const back = await consentAt(service, user, line)
  assert.equal(`${back.origin}${back.pathname}`, 'http://localhost:3000/callback')
  return Object.fromEntries(back.searchParams)
}

test('docs/connect-an-app.md: every command runs, from the registration to a hosted call', async () => {
  const replies = await follow('docs/connect-an-app.md', () => true)
  const json = replies.flat().filter((line) => line.startsWith('{'))
  const bodies = json.map((line) => JSON.parse(line) as { svc?: { billing_mode: string } })
  const modes = bodies.flatMap(({ svc }) => (svc ? [svc.billing_mode] : []))
  assert.deepEqual(modes, ['user', 'user'], 'both calls are paid by the user')
})

test('examples/README.md: the app and the key can be made as it says', async () => {
  const replies = await follow('examples/README.md', (block) => block.includes('curl'))
  assert.equal(replies.length, 3)
})
