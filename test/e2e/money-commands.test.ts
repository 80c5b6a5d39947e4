// `svc grant` and `svc ledger …` as an operator types them, on a database of their own.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { COMMAND_LINE, runToEnd } from '../support/service.ts'
import { setLedgerTime } from '../wallet/support.ts'

const service = await createApp({ settings: { WELCOME_CREDITS: '1000' } })
const { database_url } = service

const svcOn =
  (url: string) =>
  (...args: string[]) =>
    runToEnd([process.execPath, COMMAND_LINE, ...args], { DATABASE_URL: url })
const svc = svcOn(database_url)

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

test('svc grant --paid gives credits that were paid for; without it they are promotional', async () => {
  const { email, user_id } = await service.register()
  const promotional = async () =>
    (await sql(database_url, 'select posted, promotional from wallet where id = $1', [user_id]))[0]
  const gift = await svc('grant', email, '500')
  assert.equal(gift.code, 0, gift.stderr)
  assert.deepEqual(await promotional(), { posted: '1500', promotional: '1500' })
  const paid = await svc('grant', email, '70', '--paid')
  assert.equal(paid.code, 0, paid.stderr)
  assert.deepEqual(await promotional(), { posted: '1570', promotional: '1500' })
  const id = gift.stdout.match(/^grant ([0-9a-f-]{36})$/m)?.[1] ?? ''
  assert.notEqual((await svc('grant', email, '500', id, '--paid')).code, 0)
  assert.notEqual((await svc('grant', email, '5', '--payed')).code, 0)
  assert.deepEqual(await promotional(), { posted: '1570', promotional: '1500' })
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

test('svc ledger seals, archives and proves months, from their rows and from their files', async () => {
  const { register, database_url } = await createApp({ settings: { WELCOME_CREDITS: '1000' } })
  await register()
  const svc = svcOn(database_url)
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-archive-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const month = new Date().toISOString().slice(0, 7)
  assert.match((await svc('ledger', 'seal')).stdout, /no month is to be sealed/)
  await setLedgerTime(database_url, new Date(Date.now() + 70 * 24 * 3_600_000))
  const sealed = await svc('ledger', 'seal')
  assert.match(sealed.stdout, new RegExp(`^${month} sealed [0-9a-f]{64}$`, 'm'), sealed.stderr)
  const archived = await svc('ledger', 'archive', month, '--to', folder, '--drop')
  assert.equal(archived.code, 0, archived.stderr)
  const proved = await svc('ledger', 'check', '--from-the-beginning')
  assert.equal(proved.code, 0, proved.stdout + proved.stderr)
  assert.match(proved.stdout, new RegExp(`${month} is archived`))
  assert.match(proved.stdout, /the book is right/)
  assert.equal((await svc('ledger', 'verify-archive', folder)).code, 0)
  writeFileSync(path.join(folder, `usage-${month}.csv.zst`), '')
  const damaged = await svc('ledger', 'verify-archive', folder)
  assert.equal(damaged.code, 1, damaged.stdout)
  assert.match(damaged.stdout, /^DIFF/m)
  for (const wrong of [
    ['archive'],
    ['archive', '2026-13'],
    ['archive', month],
    ['check', '--drop'],
  ]) {
    assert.equal((await svc('ledger', ...wrong)).code, 2, wrong.join(' '))
  }
})
