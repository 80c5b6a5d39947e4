// `svc webhooks listen` as a real process: what it forwards, what it prints and how it ends.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { sql } from '../support/database.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { COMMAND_LINE, launch, runToEnd, type Settings } from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()
const address = await service.app.listen({ port: 0, host: '127.0.0.1' })

async function newDeveloper() {
  const developer = await service.register()
  const { client_id } = await createOAuthApp(service, developer)
  const { key } = await service.createKey(developer.bearer)
  return { developer, client_id, key }
}

describe('svc webhooks listen', () => {
  const svc = (settings: Settings, ...args: string[]) =>
    launch([process.execPath, COMMAND_LINE, 'webhooks', ...args], settings)

  it('forwards each event to a local url, prints a line about each, and ends with Ctrl-C', async () => {
    const { developer, client_id, key } = await newDeveloper()
    const receiver = await startEventReceiver()
    const program = svc({ SVC_SESSION: developer.token }, 'listen', receiver.url, '--api', address)
    const printed = (pattern: RegExp) =>
      eventually(`${pattern}`, () => pattern.test(program.output()), 15_000).catch(() =>
        assert.fail(program.output()),
      )
    await printed(/^signing secret: whsec_/m)
    assert.match(program.stdout(), new RegExp(`of ${client_id} → ${receiver.url}$`, 'm'))
    const [, secret = ''] = /^signing secret: (whsec_\S+)$/m.exec(program.stdout()) ?? []
    await service.call(key)
    await service.work()
    await receiver.waitFor(2)
    for (const { body, headers } of receiver.received) {
      new Webhook(secret).verify(body, headers as Record<string, string>)
      assert.equal(headers['user-agent'], 'Svc-Webhooks/1.0')
    }
    const [{ event } = assert.fail()] = receiver.of('usage.completed')
    await printed(new RegExp(`^[\\d:]{8}  usage\\.completed    ${event.id} → 200  \\d+ ms$`, 'm'))

    receiver.answerWith((response) => response.writeHead(500).end('no'))
    await service.call(key)
    await service.work()
    await printed(
      /^[\d:]{8} {2}balance\.updated .* → 500 {2}\d+ ms {2}localhost:\d+ answered 500 /m,
    )

    program.signal('SIGINT')
    const { code } = await program.end()
    assert.equal(code, 0, program.output())
    assert.match(program.stdout(), /\n2 delivered, 2 failed\n$/)
    assert.equal(program.stderr(), '')
    assert.ok(!program.stdout().includes('\u001b'), 'colours are for terminals')
    const listeners = () =>
      sql(service.database_url, 'select id from webhook where url is null and developer_id = $1', [
        developer.user_id,
      ])
    await eventually('it is deleted', async () => (await listeners()).length === 0)
  })

  it('says why nothing arrived, and comes back with the same secret when the connection breaks', async () => {
    const { developer, key } = await newDeveloper()
    const proxy = await startTcpProxy(address)
    const api = proxy.url.replace(/\/$/, '')
    const url = 'http://127.0.0.1:9/hook'
    const program = svc({ SVC_SESSION: developer.token }, 'listen', url, '--api', api)
    const count = (pattern: RegExp) => program.stdout().match(pattern)?.length ?? 0
    const see = (pattern: RegExp, times: number) =>
      eventually(`${pattern}`, () => count(pattern) === times, 15_000).catch(() =>
        assert.fail(program.output()),
      )
    await see(/^listening to /gm, 1)
    proxy.cut()
    await see(/^the connection was lost; connecting again in 1 s$/gm, 1)
    proxy.restore()
    await see(/^listening to /gm, 2)
    assert.equal(count(/whsec_/g), 1, 'the secret is still the same')
    await service.call(key)
    await service.work()
    await see(/ → refused {2}\d+ ms {2}Nothing listens at port 9 of 127\.0\.0\.1 /g, 2)
    program.signal('SIGTERM')
    assert.equal((await program.end()).code, 0)
  })

  it('says what is wrong, and ends with 2 for a wrong command and 1 for a refusal', async () => {
    const { developer, client_id } = await newDeveloper()
    const lonely = await service.register()
    await createOAuthApp(service, developer, { name: 'Second' })
    const session = { SVC_SESSION: developer.token }
    const url = 'http://localhost:3000/hooks'
    const run = async (settings: Settings, ...args: string[]) => {
      const command: [string, ...string[]] = [process.execPath, COMMAND_LINE, 'webhooks', ...args]
      const { code, stdout, stderr } = await runToEnd(command, settings)
      return [code, stdout + stderr] as const
    }
    const here = ['listen', url, '--api', address]
    const cases: [Promise<readonly [number | null, string]>, number, RegExp][] = [
      [run(session, '--help'), 0, /^svc webhooks listen <url> \[options\]/],
      [run(session, 'listen'), 2, /^svc: svc webhooks listen <url>/],
      [run(session, 'listen', 'localhost'), 2, /localhost is no address/],
      [run({}, ...here), 2, /set SVC_SESSION/],
      [run(session, ...here), 2, new RegExp(`choose one:[^]*--app ${client_id}  Poem Machine`)],
      [run({ SVC_SESSION: lonely.token }, ...here), 1, /you have no app yet/],
      [run({ SVC_SESSION: 'sess_x' }, ...here, '--app', client_id), 1, /session token/],
      [run(session, ...here, '--app', 'none'), 1, /There is no app with this client_id/],
      [run(session, 'listen', url, '--api', 'http://127.0.0.1:9'), 1, /is the service running/],
    ]
    for (const [done, expected, pattern] of cases) {
      const [code, output] = await done
      assert.match(output, pattern)
      assert.equal(code, expected, output)
    }
  })
})
