// Somebody who has the password and not the second factor: the owner is told, and not without end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordSecurityEvent } from '../../src/accounts/security-log/security-log.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { addTotp, answer, ask } from '../support/factors.ts'

const service = await createApp()

const countOf = async (table: string, where: string, account_id: string) => {
  const text = `select count(*)::int as count from ${table} where ${where} and account_id = $1`
  const [row] = await sql<{ count: number }>(service.database_url, text, [account_id])
  return row?.count
}

test('a right password with a wrong second factor is an event of its own kind, and is mailed at most five times a day', async () => {
  const person = await service.register()
  await addTotp(service, person)
  for (let i = 0; i < 7; i++) {
    const { challenge_id } = await ask(service, person)
    const proof = { recovery_code: 'none-of-the-ten-codes' }
    assert.equal((await answer(service, challenge_id, proof)).statusCode, 401)
  }
  const { user_id } = person
  assert.equal(await countOf('security_event', `kind = 'second_factor_failed'`, user_id), 7)
  const about = `words like '%the second factor was wrong%'`
  assert.equal(await countOf('mail_outbox', about, user_id), 5)
})

test('an account has a bounded number of events of a kind in a day', async () => {
  const { user_id: account_id } = await service.register()
  const at = service.clock.now()
  for (let i = 0; i < 1_005; i++) {
    await recordSecurityEvent(service.parts, service.parts.db, {
      account_id,
      kind: 'cap_changed',
      at,
    })
  }
  assert.equal(await countOf('security_event', `kind = 'cap_changed'`, account_id), 1_000)
  service.clock.advance(24 * 60 * 60_000 + 1)
  const next_day = { account_id, kind: 'cap_changed', at: service.clock.now() } as const
  await recordSecurityEvent(service.parts, service.parts.db, next_day)
  assert.equal(await countOf('security_event', `kind = 'cap_changed'`, account_id), 1_001)
})
