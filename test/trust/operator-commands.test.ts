// `svc account`, `svc app` and `svc operator` as an operator types them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  runAccountCommand,
  runAppCommand,
  runOperatorCommand,
} from '../../src/bin/operator-commands.ts'
import { UsageError } from '../../src/bin/usage-error.ts'
import { createApp } from '../support/app.ts'
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

test('the commands say what they did, exit with 2 at a mistake, and the log has every act with its name', async () => {
  const service = await createApp()
  const { email } = await service.register()
  const settings = { DATABASE_URL: service.database_url, DATA_DIR: service.data_dir }
  const svc = (...args: string[]) => runToEnd([process.execPath, COMMAND_LINE, ...args], settings)
  const suspended = await svc('account', 'suspend', email, '--reason', 'card fraud', '--by', 'olga')
  assert.deepEqual([suspended.code, suspended.stdout], [0, `${email} is suspended: card fraud\n`])
  const shown = await svc('account', 'show', email)
  assert.match(shown.stdout, /^suspended_reason +card fraud$/m)
  await svc('grant', email, '1000')
  const unknown = await svc('account', 'resume', 'nobody@x.test')
  assert.deepEqual([unknown.code, unknown.stderr], [2, 'svc: There is no account nobody@x.test.\n'])
  const log = await svc('operator', 'log', '--limit', '5')
  const [newest, oldest] = log.stdout.trim().split('\n')
  assert.match(newest ?? '', /: grant \S+ .*credits=1000/)
  assert.match(oldest ?? '', /^\S+Z olga: account suspend \S+ account_id=\S+: card fraud$/)
})
