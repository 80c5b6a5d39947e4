// OpenAI's Codex as docs/responses.md sets it up: the real program works in an empty folder, runs commands there, and
// reaches nobody but the gateway.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { openClientService } from '../support/client-service.ts'
import { type CodexEvent, runCodex, skipWithoutCodex } from '../support/codex.ts'

// The name tells Codex which tools to offer, so the newest ones of other providers have such names here.
const CODE_MODELS = {
  'gpt-5.6-sol': { provider: 'openai', upstream_id: 'gpt-5.6-sol' },
  'gpt-5.6-terra': { provider: 'anthropic', upstream_id: 'claude-sonnet-4-20250514' },
  'gpt-5.6-luna': { provider: 'google', upstream_id: 'gemini-2.5-flash' },
}
const MODELS = ['gpt-5', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-flash']
const FLAGS = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']

const skip = skipWithoutCodex()

describe('codex', { skip }, async () => {
  if (skip !== false) return
  const service = await openClientService(CODE_MODELS)
  const outside = await watchOutside()
  const home = newFolder()
  writeFileSync(path.join(home, 'config.toml'), configuration(service.baseURL))

  const codex = (cwd: string, args: readonly string[]) => {
    const { PATH = '' } = process.env
    const env = {
      PATH,
      HOME: home,
      CODEX_HOME: home,
      SVC_KEY: service.key,
      HTTP_PROXY: outside.url,
      HTTPS_PROXY: outside.url,
      ALL_PROXY: outside.url,
      NO_PROXY: '127.0.0.1',
    }
    return runCodex(args, { cwd, env })
  }

  for (const model of MODELS) {
    test(`runs a command that ${model} asks for, and pays for both answers`, async () => {
      const folder = newFolder()
      const before = { balance: await service.balance(), used: await service.used() }
      const call = callOf('exec_command', '{"cmd":"echo made by codex | tee proof.txt"}')
      const events = await codex(folder, [...FLAGS, '-m', model, `${call} Make a file.`])
      assert.equal(readFileSync(path.join(folder, 'proof.txt'), 'utf8'), 'made by codex\n')
      const command = itemsOf(events, 'command_execution').at(-1)
      assert.deepEqual([command?.exit_code, command?.aggregated_output], [0, 'made by codex\n'])
      assert.match(lastMessage(events), /^The tool answered: /)
      assert.equal(itemsOf(events, 'agent_message').length, model.startsWith('anthropic/') ? 2 : 1)
      assert.match(service.asked()[0] ?? '', /made by codex\\n/)
      const used = (await service.used()) - before.used
      assert.ok(used > 0)
      assert.equal(before.balance - used, await service.balance())
    })

    test(`finds the tool of a namespace that ${model} calls`, async () => {
      const call = callOf('multi_agent_v1__wait_agent', '{"targets":["nobody"],"timeout_ms":10}')
      const events = await codex(newFolder(), [...FLAGS, '-m', model, `${call} Wait.`])
      assert.match(lastMessage(events), /^The tool answered: .*invalid agent id nobody/)
    })
  }

  for (const [model, { provider }] of Object.entries(CODE_MODELS)) {
    test(`runs the code that ${model} of ${provider} writes for a tool of the input`, async () => {
      const folder = newFolder()
      const code = 'text(await tools.exec_command({cmd: "echo made by code | tee proof.txt"}))'
      const given = provider === 'openai' ? code : JSON.stringify({ input: code })
      const call = callOf('functions__exec', given)
      const events = await codex(folder, [...FLAGS, '-m', model, `${call} Make a file.`])
      assert.equal(readFileSync(path.join(folder, 'proof.txt'), 'utf8'), 'made by code\n')
      assert.match(lastMessage(events), /^The tool answered: .*Script completed/)
    })
  }

  for (const model of ['gpt-5.6-sol', ...MODELS]) {
    test(`takes a conversation with ${model} up again`, async () => {
      const folder = newFolder()
      const words = `The word is ${model.length} herons.`
      const begun = await codex(folder, [...FLAGS, '-m', model, `[[sandbox:echo]] ${words}`])
      // Claude and Gemini read what Codex says about the folder in the same turn.
      assert.ok(lastMessage(begun).endsWith(words))
      const { thread_id = '' } = begun.find(({ type }) => type === 'thread.started') ?? {}
      const more = ['resume', ...FLAGS, '-m', model, thread_id, '[[sandbox:echo]] And then?']
      assert.ok(lastMessage(await codex(folder, more)).endsWith('And then?'))
      const asked = service.asked()[0] ?? ''
      assert.equal(asked.split(words).length - 1, 2, 'once as the question, once as the answer')
    })
  }

  test('has reached nobody but the gateway', () => {
    assert.deepEqual(outside.asked, [])
  })
})

/** What docs/responses.md says, for this service, and without calls to others. */
function configuration(base_url: string): string {
  const page = readFileSync('docs/responses.md', 'utf8')
  const [, documented = ''] = /```toml\n(.*?)```/s.exec(page) ?? []
  assert.ok(documented.includes('http://localhost:8080/v1'))
  return `check_for_update_on_startup = false
${documented.replace('http://localhost:8080/v1', base_url)}
[features]
apps = false
plugins = false

[analytics]
enabled = false
`
}

function callOf(tool: string, given: string): string {
  return `[[sandbox:tool=${tool}]] [[sandbox:arguments=${given}]]`
}

function itemsOf(events: readonly CodexEvent[], type: string) {
  return events
    .filter((event) => event.type === 'item.completed' && event.item?.type === type)
    .map(({ item }) => item)
}

function lastMessage(events: readonly CodexEvent[]): string {
  return itemsOf(events, 'agent_message').at(-1)?.text ?? ''
}

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-codex-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The only way out is a proxy that lets nobody through and remembers who was called. */
async function watchOutside() {
  const asked: string[] = []
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(502).end()
  })
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => server.close())
  const { port } = server.address() as AddressInfo
  return { asked, url: `http://127.0.0.1:${port}` }
}
