// `svc account`, `svc app` and `svc operator` as an operator types them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  runAccountCommand,
  runAppCommand,
  runOperatorCommand,
  systemUser,
} from '../../src/bin/operator-commands.ts'
import { UsageError } from '../../src/bin/usage-error.ts'
import { listActs } from '../../src/operators/acts.ts'
import { createApp } from '../support/app.ts'
import { createOAuthApp } from '../support/oauth.ts'
import { COMMAND_LINE, runToEnd } from '../support/service.ts'

for (const [run, args, why] of [
  [runAccountCommand, [], /svc account show/],
  [runAccountCommand, ['show'], /svc account show/],
  [runAccountCommand, ['pet', 'a@b'], /svc account show/],
  [runAccountCommand, ['show', 'a@b', 'c@d'], /svc account show/],
  [runAccountCommand, ['suspend', 'a@b'], /--reason is missing/],
  [runAccountCommand, ['suspend', 'a@b', '--reason', ' '], /--reason needs words/],
  [runAccountCommand, ['suspend', 'a@b', '--reason', 'two\nlines'], /--reason needs words/],
  [runAccountCommand, ['suspend', 'a@b', '--reason', 'x'.repeat(501)], /at most 500/],
  [runAccountCommand, ['resume', 'a@b', '--by', ''], /--by needs words/],
  [runAccountCommand, ['show', 'a@b', '--reason', 'x'], /--reason is an option of/],
  [runAppCommand, ['suspend', 'svc_client_x'], /--reason is missing/],
  [runAppCommand, ['resume'], /svc app suspend/],
  [runOperatorCommand, ['add'], /svc operator add/],
  [runOperatorCommand, ['log', 'a@b'], /svc operator add/],
  [runOperatorCommand, ['add', 'a@b', '--limit', '3'], /--limit is an option of `log`/],
] as const) {
  test(`${args.join(' ').slice(0, 40)} is refused by ${run.name} before anything is opened`, async () => {
    let opened = false
    const running = run(args, async () => {
      opened = true
    })
    await assert.rejects(running, (error) => error instanceof UsageError && why.test(error.message))
    assert.equal(opened, false)
  })
}

test('the commands say what they did, and the log has every act with its name', async (t) => {
  const service = await createApp()
  const { email } = await service.register()
  const withParts = (work: (parts: typeof service.parts) => Promise<void>) => work(service.parts)
  let printed = ''
  const write = process.stdout.write.bind(process.stdout)
  t.mock.method(process.stdout, 'write', (text: string | Uint8Array) => {
    if (typeof text === 'string') printed += text
    return write(text)
  })
  const said = async (running: Promise<void>) => {
    printed = ''
    await running
    return printed
  }
  const why = ['--reason', 'card fraud', '--by', 'olga']
  const suspend = runAccountCommand(['suspend', email, ...why], withParts)
  assert.match(await said(suspend), new RegExp(`^${email} is suspended: card fraud$`, 'm'))
  const again = runAccountCommand(['suspend', email, ...why], withParts)
  assert.match(await said(again), /was suspended before/)
  const show = runAccountCommand(['show', email], withParts)
  assert.match(await said(show), /^suspended_reason +card fraud$/m)
  const unknown = runAccountCommand(['resume', 'nobody@x.test'], withParts)
  await assert.rejects(unknown, /There is no account nobody@x\.test/)
  service.clock.advance(1000)
  await runOperatorCommand(['add', email], withParts)
  const log = await said(runOperatorCommand(['log', '--limit', '5'], withParts))
  assert.match(log, new RegExp(`Z ${systemUser()}: operator add ${email} account_id=\\S+$`, 'm'))
  assert.match(log, /Z olga: account suspend \S+ account_id=\S+: card fraud$/m)
  // An app is called as its developer likes.
  const name = 'x\n2026-01-01T00:00:00.000Z olga: account resume m@x.test\u001b[2J'
  const { client_id } = await createOAuthApp(service, await service.register(), { name })
  await runAppCommand(['suspend', client_id, ...why], withParts)
  const later = await said(runOperatorCommand(['log'], withParts))
  assert.deepEqual([later.match(/\n/g)?.length, later.includes('\u001b')], [3, false], later)
})

test('svc grant and key-limit leave a record, and a mistake exits with 2', async () => {
  const service = await createApp()
  const { email, bearer } = await service.register()
  const { id } = await service.createKey(bearer)
  const settings = { DATABASE_URL: service.database_url, DATA_DIR: service.data_dir }
  const svc = (...args: string[]) => runToEnd([process.execPath, COMMAND_LINE, ...args], settings)
  const [granted, limited, unknown] = await Promise.all([
    svc('grant', email, '1000'),
    svc('key-limit', id, '7'),
    svc('account', 'resume', 'nobody@x.test'),
  ])
  assert.deepEqual([granted.code, limited.code], [0, 0], granted.stderr + limited.stderr)
  assert.deepEqual([unknown.code, unknown.stderr], [2, 'svc: There is no account nobody@x.test.\n'])
  const acts = await listActs(service.parts.db, 10)
  assert.deepEqual(
    acts
      .map(({ act, subject }) => `${act} ${subject}`)
      .toSorted((left, right) => left.localeCompare(right)),
    [`grant ${email}`, `key-limit ${id}`],
  )
})
