// A client that is generated from docs/openapi.json compiles, knows the types, and makes calls.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createApp, PASSWORD } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { type Document, writeClient } from './typed-client.ts'

/** A stranger's program. What must not compile is marked; the compiler objects where it does. */
const PROGRAM = `import { ApiFailure, createClient } from './client.ts'

export async function walk(base_url: string, email: string, password: string) {
  const registered = await createClient(base_url).register({ body: { email, password } })
  const { session_token, user } = await registered.json()
  const balance: number = user.balance
  const session = createClient(base_url, { authorization: 'Bearer ' + session_token })
  const made = await session.create_key({ body: { name: 'typed', billing_mode: 'developer' } })
  const { key, id } = await made.json()
  const caller = createClient(base_url, { authorization: 'Bearer ' + key })
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
  const chat = await (await caller.chat_completion({ body })).json()
  const text: string | null | undefined = chat.choices[0]?.message.content
  const stream = await (await caller.chat_completion({ body: { ...body, stream: true } })).text()
  const speech = { model: 'elevenlabs/eleven_flash_v2_5', input: 'Good morning.', voice: 'alloy' }
  const audio = await caller.speech({ body: { ...speech, response_format: 'wav' } })
  const form = new FormData()
  form.set('model', 'elevenlabs/scribe_v1')
  form.set('file', await audio.blob(), 'morning.wav')
  const heard = await (await caller.transcription({ body: form })).json()
  const csv = await (await session.transactions({ query: { format: 'csv' } })).text()
  await session.revoke_key({ path: { id } })
  const refused = await caller.balance().catch((error: unknown) => error)
  const code = refused instanceof ApiFailure ? refused.error.code : undefined
  return { balance, text, svc: chat.svc, stream, heard: heard.text, csv, code }
}

// @ts-expect-error the password is missing
export const missing = () => createClient('').register({ body: { email: '' } })
// @ts-expect-error no such billing mode
export const odd = () => createClient('').create_key({ body: { name: '', billing_mode: 'nobody' } })
// @ts-expect-error no such field in the reply
export const unknown = async () => (await (await createClient('').me()).json()).credits
// @ts-expect-error the id of the key is missing
export const nameless = () => createClient('').revoke_key()
`

type Walk = (...given: [string, string, string]) => Promise<{
  balance: number
  text: string
  svc: { credits_used: number; balance_before: number; balance_after: number }
  stream: string
  heard: string
  csv: string
  code: string | undefined
}>

test('a client made from docs/openapi.json compiles, and registers, makes a key, chats, speaks and listens', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-client-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Document
  writeFileSync(path.join(folder, 'client.ts'), writeClient(document))
  writeFileSync(path.join(folder, 'program.ts'), PROGRAM)
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  const compiled = compile(folder)
  assert.equal(compiled.status, 0, compiled.stdout)

  const service = await createApp()
  const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const program = (await import(pathToFileURL(path.join(folder, 'program.ts')).href)) as {
    walk: Walk
  }
  const seen = await program.walk(address, 'typed@example.com', PASSWORD)
  assert.equal(seen.balance, 1_000_000)
  assert.ok(seen.text.length > 0)
  assert.equal(seen.svc.balance_before - seen.svc.credits_used, seen.svc.balance_after)
  assert.match(seen.stream, /data: \[DONE\]\n\ndata: \{.*"svc":\{.*\}\n\n$/)
  assert.ok(seen.heard.length > 0)
  assert.match(seen.csv, /^id,created_at,kind,amount,/)
  assert.equal(seen.code, 'invalid_api_key')
})

function compile(folder: string) {
  const options = ['--strict', '--noEmit', '--erasableSyntaxOnly', '--allowImportingTsExtensions']
  const platform = ['--target', 'es2024', '--module', 'nodenext', '--lib', 'es2024,dom']
  return spawnSync(
    path.resolve('node_modules/.bin/tsc'),
    [...options, ...platform, '--types', '', path.join(folder, 'program.ts')],
    { encoding: 'utf8', cwd: folder },
  )
}
