// `svc grant` and `svc ledger check` as an operator types them, on a database of their own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { COMMAND_LINE, runToEnd } from '../support/service.ts'

const service = await createApp({ settings: { WELCOME_CREDITS: '1000' } })
const { database_url } = service

const svc = (...args: string[]) =>
  runToEnd([process.execPath, COMMAND_LINE, ...args], { DATABASE_URL: database_url })

test('svc grant gives credits, and the same grant id gives them once', async () => {
  const { email, bearer } = await service.register()
  const balance = async () =>
    (await service.request({ url: '/auth/me', headers: bearer })).json().balance
  const first = await svc('grant', email.toUpperCase(), '500')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /1000 \+ 500 = 1500 credits/)
  assert.equal(await balance(), 1500)
  const id = first.stdout.match(/^grant ([0-9a-f-]{36})$/m)?.[1] ?? ''
  const again = await svc('grant', email, '500', id)
  assert.equal(again.code, 0, again.stderr)
  assert.equal(await balance(), 1500)
  for (const wrong of ['0', '-5', '1.5', '9007199254740992', 'x']) {
    assert.notEqual((await svc('grant', email, wrong)).code, 0, wrong)
  }
  assert.notEqual((await svc('grant', 'nobody@x.test', '5')).code, 0)
  assert.equal(await balance(), 1500)
})

test('svc ledger check counts what it proved and exits 0; with a wrong balance it names it and exits 1', async () => {
  const { user_id } = await service.register()
  const right = await svc('ledger', 'check')
  assert.equal(right.code, 0, right.stdout + right.stderr)
  assert.match(right.stdout, /^ok .*\([1-9]\d* checked\)$/m)
  await sql(database_url, 'update wallet set posted = posted + 1 where id = $1', [user_id])
  const wrong = await svc('ledger', 'check')
  assert.equal(wrong.code, 1, wrong.stdout + wrong.stderr)
  assert.match(wrong.stdout, new RegExp(`^DIFF .*${user_id}`, 'm'))
})
