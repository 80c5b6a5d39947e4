// The service as real clients of the Responses API meet it: an address, a key, models of every provider, and what a
// provider was asked in the end.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CHAT_MODELS } from '../../src/catalog/price-list.ts'
import { createApp } from './app.ts'
import { atEnd } from './cleanup.ts'
import { sql } from './database.ts'

const CREDITS = '100000000000'

/** Both of OpenAI's interfaces, and the other two providers. */
export const CLIENT_MODELS = [
  'gpt-4o-mini',
  'gpt-5',
  'anthropic/claude-sonnet-4',
  'google/gemini-2.5-flash',
] as const

/** Served by gpt-5.6-sol, which takes functions in the Responses API only. */
export const SUCCEEDED = 'gpt-4'

/** A model that is not in the list, with the prices and limits of its family. */
const OWN_MODEL = {
  kind: 'chat',
  prices: {
    input: 2_000_000,
    cache_read: 200_000,
    cache_write_5m: 2_500_000,
    cache_write_1h: 2_500_000,
    output: 12_000_000,
  },
  context_window: 200_000,
  max_output_tokens: 16_000,
  image_tokens: { low: 2_500, high: 10_000 },
  capabilities: {
    images: true,
    files: true,
    audio_input: false,
    tools: true,
    json_object: true,
    json_schema: true,
    reasoning: true,
  },
  on_disconnect: 'drain',
}

export type OwnModels = Readonly<Record<string, { provider: string; upstream_id: string }>>

/** Each name is served by its own model, but for `SUCCEEDED`. */
export async function openClientService(own: OwnModels = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-clients-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'catalog.json')
  writeFileSync(file, JSON.stringify({ models: listModels(own) }))
  const settings = { WELCOME_CREDITS: CREDITS, CATALOG_FILE: file, MODEL_SUCCESSORS: 'on' }
  const service = await createApp({ settings })
  const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { key } = await service.createKey((await service.register()).bearer)
  const headers = { authorization: `Bearer ${key}` }
  const { sandbox } = service

  async function balance(): Promise<number> {
    const reply = await service.request({ url: '/v1/balance', headers })
    return reply.json<{ balance: number }>().balance
  }

  /** All that calls were charged, by the record of usage. */
  async function used(): Promise<number> {
    const text = 'select coalesce(sum(credits_used), 0)::text as used from usage_event'
    const [row] = await sql<{ used: string }>(service.database_url, text)
    return Number(row?.used)
  }

  return {
    used,
    baseURL: `${address}/v1`,
    key,
    balance,

    /** The bodies of the last requests that any provider got, as text, the latest first. */
    asked: (count = 1): string[] =>
      sandbox
        .requests()
        .slice(-count)
        .toReversed()
        .map(({ body }) => JSON.stringify(body)),

    /** Whatever the numbers of a call say, the wallet says the same. */
    async checkMoney(calls: readonly unknown[], before: number): Promise<void> {
      assert.ok(calls.length > 0)
      let left = before
      for (const call of calls) {
        const { svc } = call as { svc: Svc }
        assert.ok(svc.credits_used > 0)
        assert.equal(svc.balance_before, left)
        assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
        left = svc.balance_after
      }
      assert.equal(await balance(), left)
    },
  }
}

export type Svc = { credits_used: number; balance_before: number; balance_after: number }

function listModels(own: OwnModels): Record<string, object> {
  const listed = CHAT_MODELS.filter(({ name }) => name !== SUCCEEDED).map(({ name }) => name)
  const models = { 'gpt-5.6-luna': { provider: 'openai', upstream_id: 'gpt-5.6-luna' }, ...own }
  return {
    ...Object.fromEntries(listed.map((name) => [name, { retires_on: null }])),
    ...Object.fromEntries(
      Object.entries(models).map(([name, { provider, upstream_id }]) => {
        const api = upstream_id.startsWith('gpt-5') ? { api: 'responses' } : {}
        return [name, { ...OWN_MODEL, provider, upstream_id, ...api }]
      }),
    ),
  }
}
