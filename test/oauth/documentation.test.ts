// What a stranger copies from the documentation works.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followPage } from '../support/documented-commands.ts'
import { consentAt, createListeningApp } from '../support/listening-app.ts'

const service = await createListeningApp()
const user = await service.register()
const addresses = { 'http://localhost:8080': service.address }

/** What the reader takes from a reply, or from the address to which an authorize link leads in the end. */
async function readFields(line: string): Promise<Record<string, unknown>> {
  if (!line.startsWith('http')) return JSON.parse(line) as Record<string, unknown>
  const back = await consentAt(service, user, line)
  assert.equal(`${back.origin}${back.pathname}`, 'http://localhost:3000/callback')
  return Object.fromEntries(back.searchParams)
}

test('docs/connect-an-app.md: every command runs, from the registration to a hosted call', async () => {
  const replies = await followPage({ file: 'docs/connect-an-app.md', addresses, readFields })
  const json = replies.flat().filter((line) => line.startsWith('{'))
  const bodies = json.map((line) => JSON.parse(line) as { svc?: { billing_mode: string } })
  const modes = bodies.flatMap(({ svc }) => (svc ? [svc.billing_mode] : []))
  assert.deepEqual(modes, ['user', 'user'], 'both calls are paid by the user')
})

test('examples/README.md: the app and the key can be made as it says', async () => {
  const isWanted = (block: string) => block.includes('curl')
  const replies = await followPage({ file: 'examples/README.md', addresses, readFields, isWanted })
  assert.equal(replies.length, 4)
})

test('docs/browser-apps.md: the app can be registered as it says, and gets no secret', async () => {
  const replies = await followPage({ file: 'docs/browser-apps.md', addresses })
  const app = JSON.parse(replies.at(-1)?.at(-1) ?? '{}') as Record<string, unknown>
  assert.equal(app['client_type'], 'browser')
  assert.equal('client_secret' in app, false)
})
