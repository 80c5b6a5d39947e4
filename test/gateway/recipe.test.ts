// Follows the recipes of CONTRIBUTING.md: a model is one row, a provider one folder.

import assert from 'node:assert/strict'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { PROVIDERS } from '../../src/catalog/models.ts'
import type { ProviderProfile } from '../../src/gateway/upstreams/contract.ts'
import { PROFILES } from '../../src/gateway/upstreams/registry.ts'
import { chat, saidIn, startGateway, svcOf } from '../support/gateway.ts'

const UPSTREAMS = 'src/gateway/upstreams'

/** What a model needs, and nothing else. */
const NEW_MODEL = {
  kind: 'chat',
  provider: 'google',
  upstream_id: 'gemini-2.0-flash',
  prices: {
    input: 1_000_000,
    cache_read: 1_000_000,
    cache_write_5m: 1_000_000,
    cache_write_1h: 1_000_000,
    output: 5_000_000,
  },
  context_window: 100_000,
  max_output_tokens: 1_000,
  capabilities: {
    images: false,
    files: false,
    audio_input: false,
    tools: true,
    json_object: true,
    json_schema: true,
    reasoning: false,
  },
  on_disconnect: 'drain',
}

test('a model is one row: it is listed, answers in both formats, and costs what the row says', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-catalog-'))
  const file = path.join(folder, 'catalog.json')
  const model = 'acme/quick'
  await writeFile(file, JSON.stringify({ models: { [model]: NEW_MODEL } }))
  const gateway = await startGateway({ CATALOG_FILE: file })
  await rm(folder, { recursive: true })
  const { key } = await (await gateway.customer(100_000_000n)).newKey()
  const headers = { authorization: `Bearer ${key}` }
  const listed = await fetch(`${gateway.url}/v1/models`, { headers })
  const { data } = (await listed.json()) as { data: { id: string }[] }
  assert.ok(data.some(({ id }) => id === model))
  const prompt = '[[sandbox:echo]] Hello there.'
  for (const dialect of ['openai', 'anthropic'] as const) {
    const reply = await chat(gateway.url, { key, model, prompt, dialect, max_tokens: 100 })
    assert.equal(reply.status, 200, reply.text)
    assert.equal(saidIn(reply), 'Hello there.')
    assert.equal(reply.headers['x-svc-upstream-model'], NEW_MODEL.upstream_id)
    const body = JSON.parse(reply.text) as { model: string; usage: Record<string, number> }
    assert.equal(body.model, model)
    const { prompt_tokens, completion_tokens, input_tokens, output_tokens } = body.usage
    const cost =
      (prompt_tokens ?? input_tokens ?? 0) + 5 * (completion_tokens ?? output_tokens ?? 0)
    assert.ok(cost > 0)
    assert.equal(svcOf(reply).credits_used, cost)
  }
  await gateway.close()
})

test('a provider is one folder: whatever has a profile is registered under its name, and is whole', async () => {
  const folders = globSync(`${UPSTREAMS}/*/profile.ts`).map((file) => path.dirname(file))
  assert.ok(folders.length >= 3)
  for (const folder of folders) {
    const name = path.basename(folder)
    const module = (await import(path.resolve(folder, 'profile.ts'))) as Record<string, unknown>
    const registered: ProviderProfile | undefined = new Map(Object.entries(PROFILES)).get(name)
    assert.ok(registered && Object.values(module).includes(registered), `${name} is not registered`)
    assert.ok(PROVIDERS.some((provider) => provider === registered.name))
    for (const part of ['request', 'frames', 'usage']) {
      assert.ok(existsSync(path.join(folder, `${part}.ts`)), `${folder} has no ${part}.ts`)
    }
    // A second interface of a provider begins with its name, and fails in the same words.
    assert.ok(name === registered.name || name.startsWith(`${registered.name}-`))
    const errors = path.join(UPSTREAMS, registered.name, 'errors.ts')
    assert.ok(existsSync(errors), `${registered.name} has no errors.ts`)
  }
  assert.equal(Object.keys(PROFILES).length, folders.length)
})
