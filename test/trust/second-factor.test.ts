// Second factors over the API: what they ask of whoever signs in, and what does not get past them.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { factorJobs } from '../../src/accounts/factors/jobs.ts'
import { mintSecretKey, parseSecretKeys, SecretBox } from '../../src/platform/secret-box.ts'
import { createApp, PASSWORD, sendQueuedMail } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  addPasskey,
  addTotp,
  answer,
  ask,
  beginPasskey,
  codeOf,
  eventsOf,
} from '../support/factors.ts'
import { verifyAddress } from '../support/mails.ts'

const MINUTE_MS = 60_000
const service = await createApp()
const { clock } = service

/** Codes work once, so each test moves on. */
function nextStep(): void {
  clock.advance(31_000)
}

function codeOfError(reply: { json: <T>() => T }): string {
  return reply.json<{ error: { code: string } }>().error.code
}

test('an account without a second factor signs in as the specification says, and has an empty list', async () => {
  const person = await service.register()
  const reply = await service.post('/auth/login', { email: person.email, password: PASSWORD })
  assert.equal(reply.statusCode, 200)
  const list = await service.request({ url: '/account/factors', headers: person.bearer })
  assert.deepEqual(list.json(), { data: [], recovery_codes_left: 0 })
})

test('an authenticator app is added by a code of it, shows its secret once, and is then asked for', async () => {
  const person = await service.register()
  const begun = await service.post('/account/factors/totp', {}, person.bearer)
  const { secret, otpauth_uri, qr_svg } = begun.json<Record<string, string>>()
  assert.match(otpauth_uri ?? '', /^otpauth:\/\/totp\/Svc:.*secret=[A-Z2-7]{32}/)
  assert.match(qr_svg ?? '', /^<svg /)
  // Until it is confirmed nothing is asked.
  const before = await service.post('/auth/login', { email: person.email, password: PASSWORD })
  assert.equal(before.statusCode, 200)

  const added = await addTotp(service, person)
  assert.notEqual(added.secret, secret, 'each beginning has a secret of its own')
  assert.equal(added.recovery_codes?.length, 10)
  assert.equal(new Set(added.recovery_codes).size, 10)
  const list = await service.request({ url: '/account/factors', headers: person.bearer })
  assert.ok(!list.body.includes(added.secret))
  assert.equal(list.json<{ recovery_codes_left: number }>().recovery_codes_left, 10)

  const question = await ask(service, person)
  assert.equal(question.code, 'second_factor_required')
  assert.deepEqual(question.factors, ['totp', 'recovery_code'])
  assert.equal(new Date(question.expires_at).getTime(), clock.now().getTime() + 5 * MINUTE_MS)
  nextStep()
  const code = codeOf(added.secret, clock.now())
  const reply = await answer(service, question.challenge_id, { totp: code })
  assert.equal(reply.statusCode, 200)
  assert.match(String(reply.headers['set-cookie']), /svc_session=sess_/)
  const { session_token, user } = reply.json<{ session_token: string; user: { id: string } }>()
  assert.equal(user.id, person.user_id)
  const me = await service.request({
    url: '/auth/me',
    headers: { authorization: `Bearer ${session_token}` },
  })
  assert.equal(me.statusCode, 200)
  assert.deepEqual(await eventsOf(service, person), ['factor_added', 'recovery_codes_made'])
})

test('a wrong password is answered the same whether or not there is a second factor', async () => {
  const [guarded, plain] = [await service.register(), await service.register()]
  await addTotp(service, guarded)
  const replies = await Promise.all(
    [guarded, plain].map(({ email }) =>
      service.post('/auth/login', { email, password: 'not the password' }),
    ),
  )
  const bodies = replies.map((reply) => {
    const { request_id: _, ...error } = reply.json<{ error: { request_id: string } }>().error
    return { status: reply.statusCode, error }
  })
  assert.deepEqual(bodies[0], bodies[1])
})

test('a code of an app works once: not again at sign-in, not after it confirmed the app, not of a step before', async () => {
  const person = await service.register()
  const { secret, code } = await addTotp(service, person)
  const first = await ask(service, person)
  assert.equal((await answer(service, first.challenge_id, { totp: code })).statusCode, 401)
  nextStep()
  const next = codeOf(secret, clock.now())
  assert.equal((await answer(service, first.challenge_id, { totp: next })).statusCode, 200)
  const second = await ask(service, person)
  const replayed = await answer(service, second.challenge_id, { totp: next })
  assert.equal(replayed.statusCode, 401)
  assert.equal(codeOfError(replayed), 'invalid_credentials')
  const earlier = codeOf(secret, clock.now(), -1)
  assert.equal((await answer(service, second.challenge_id, { totp: earlier })).statusCode, 401)
  // The clock of the app may go before ours by a step, and no further.
  const far = codeOf(secret, clock.now(), 2)
  assert.equal((await answer(service, second.challenge_id, { totp: far })).statusCode, 401)
  const early = codeOf(secret, clock.now(), 1)
  assert.equal((await answer(service, second.challenge_id, { totp: early })).statusCode, 200)
})

test('a challenge opens one session, dies of five wrong answers and after five minutes', async () => {
  const person = await service.register()
  const { secret } = await addTotp(service, person)
  nextStep()
  const used = await ask(service, person)
  const totp = codeOf(secret, clock.now())
  assert.equal((await answer(service, used.challenge_id, { totp })).statusCode, 200)
  nextStep()
  const again = await answer(service, used.challenge_id, { totp: codeOf(secret, clock.now()) })
  assert.equal(again.statusCode, 401)
  assert.equal(again.json<{ error: { param: string } }>().error.param, 'challenge_id')

  const guessed = await ask(service, person)
  for (let wrong = 0; wrong < 5; wrong++) {
    const recovery_code = 'aaaaaa-aaaaaa-aaaaaa-aaaaaa'
    const reply = await answer(service, guessed.challenge_id, { recovery_code })
    assert.equal(reply.statusCode, 401)
  }
  const right = { totp: codeOf(secret, clock.now()) }
  assert.equal((await answer(service, guessed.challenge_id, right)).statusCode, 401)

  const old = await ask(service, person)
  clock.advance(5 * MINUTE_MS)
  const late = { totp: codeOf(secret, clock.now()) }
  assert.equal((await answer(service, old.challenge_id, late)).statusCode, 401)
  assert.ok((await eventsOf(service, person)).includes('second_factor_failed'))
})

test('codes of one account are counted across challenges; recovery codes stay a way in', async () => {
  const person = await service.register()
  const { secret, recovery_codes } = await addTotp(service, person)
  nextStep()
  const statuses: number[] = []
  for (let challenge = 0; challenge < 3; challenge++) {
    const { challenge_id } = await ask(service, person)
    for (let guess = 0; guess < 4; guess++) {
      statuses.push((await answer(service, challenge_id, { totp: '000000' })).statusCode)
    }
  }
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429])
  const { challenge_id } = await ask(service, person)
  const totp = codeOf(secret, clock.now())
  const limited = await answer(service, challenge_id, { totp })
  assert.equal(limited.statusCode, 429)
  assert.ok(Number(limited.headers['retry-after']) > 0)
  const recovered = await answer(service, challenge_id, { recovery_code: recovery_codes?.[0] })
  assert.equal(recovered.statusCode, 200)
})

test('an account has a bounded number of open challenges, and its newest stay good', async () => {
  const person = await service.register()
  const { recovery_codes } = await addTotp(service, person)
  const questions = []
  for (let index = 0; index < 13; index++) {
    questions.push(await ask(service, person))
    clock.advance(1)
  }
  const [{ open }] = (await sql<{ open: number }>(
    service.database_url,
    'select count(*)::integer as open from factor_challenge where account_id = $1',
    [person.user_id],
  )) as [{ open: number }]
  assert.equal(open, 10)
  const [recovery_code] = recovery_codes ?? []
  const oldest = await answer(service, questions[0]?.challenge_id ?? '', { recovery_code })
  assert.equal(oldest.statusCode, 401)
  const newest = await answer(service, questions[12]?.challenge_id ?? '', { recovery_code })
  assert.equal(newest.statusCode, 200)
})

test('a recovery code works once, however it is typed, and of two at once one', async () => {
  const person = await service.register()
  const { recovery_codes } = await addTotp(service, person)
  const [first = '', second = ''] = recovery_codes ?? []
  const typed = ` ${first.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')}`
  const question = await ask(service, person)
  const reply = await answer(service, question.challenge_id, { recovery_code: typed })
  assert.equal(reply.statusCode, 200)
  const later = await ask(service, person)
  const twice = await answer(service, later.challenge_id, { recovery_code: first })
  assert.equal(twice.statusCode, 401)

  const other = await createApp({ database_url: service.database_url })
  const [here, there] = [await ask(service, person), await ask(other, person)]
  const raced = await Promise.all([
    answer(service, here.challenge_id, { recovery_code: second }),
    answer(other, there.challenge_id, { recovery_code: second }),
  ])
  assert.deepEqual(
    raced.map((each) => each.statusCode).sort((a, b) => a - b),
    [200, 401],
  )
  await other.close()
  assert.equal(
    (await eventsOf(service, person)).filter((kind) => kind === 'recovery_code_used').length,
    2,
  )
})

test('new recovery codes end the old ones, and the codes end with the last factor', async () => {
  const person = await service.register()
  const none = await service.post('/account/factors/recovery-codes', {}, person.bearer)
  assert.equal(none.statusCode, 400)
  const { factor, recovery_codes } = await addTotp(service, person)
  const renewed = await service.post('/account/factors/recovery-codes', {}, person.bearer)
  assert.equal(renewed.statusCode, 201)
  const { recovery_codes: fresh } = renewed.json<{ recovery_codes: string[] }>()
  const { challenge_id } = await ask(service, person)
  const old = await answer(service, challenge_id, { recovery_code: recovery_codes?.[0] })
  assert.equal(old.statusCode, 401)
  assert.equal((await answer(service, challenge_id, { recovery_code: fresh[0] })).statusCode, 200)

  const removed = await service.request({
    method: 'DELETE',
    url: `/account/factors/${factor.id}`,
    headers: person.bearer,
  })
  assert.equal(removed.statusCode, 200)
  const list = await service.request({ url: '/account/factors', headers: person.bearer })
  assert.deepEqual(list.json(), { data: [], recovery_codes_left: 0 })
  const plain = await service.post('/auth/login', { email: person.email, password: PASSWORD })
  assert.equal(plain.statusCode, 200)
  assert.deepEqual(await eventsOf(service, person), [
    'factor_added',
    'factor_removed',
    'recovery_code_used',
    'recovery_codes_made',
    'recovery_codes_made',
    'second_factor_failed',
  ])
})

test('a challenge is good for its own account and purpose only', async () => {
  const [mine, theirs] = [await service.register(), await service.register()]
  const { authenticator } = await addPasskey(service, mine)
  const { authenticator: foreign } = await addPasskey(service, theirs)
  // Their passkey on my challenge, and mine on theirs.
  const question = await ask(service, mine)
  assert.ok(question.passkey_options)
  const passkey = foreign.assert(question.passkey_options)
  assert.equal((await answer(service, question.challenge_id, { passkey })).statusCode, 401)
  const other = await ask(service, theirs)
  const own = authenticator.assert(question.passkey_options)
  assert.equal((await answer(service, other.challenge_id, { passkey: own })).statusCode, 401)
  // The signature for a sign-in proves nothing to step-up, nor the other way round.
  const options = await service.post('/auth/step-up/options', {}, mine.bearer)
  const { passkey_options } = options.json<{ passkey_options: { challenge: string } }>()
  const for_step_up = authenticator.assert(passkey_options)
  const crossed = await answer(service, question.challenge_id, { passkey: for_step_up })
  assert.equal(crossed.statusCode, 401)
  const for_sign_in = authenticator.assert(question.passkey_options)
  const stepped = await service.post('/auth/step-up', { passkey: for_sign_in }, mine.bearer)
  assert.equal(stepped.statusCode, 401)
  const good = authenticator.assert(question.passkey_options)
  assert.equal((await answer(service, question.challenge_id, { passkey: good })).statusCode, 200)
})

test('an account has ten factors at most, one app among them, and others’ factors are not found', async () => {
  const [mine, theirs] = [await service.register(), await service.register()]
  const { factor } = await addTotp(service, mine)
  const second = await service.post('/account/factors/totp', {}, mine.bearer)
  assert.equal(second.statusCode, 400)
  for (let index = 0; index < 9; index++) {
    const { recovery_codes } = await addPasskey(service, mine, `Key ${index}`)
    assert.equal(recovery_codes, null)
  }
  const full = await service.post('/account/factors/passkeys/options', {}, mine.bearer)
  assert.equal(full.statusCode, 400)
  for (const id of [factor.id, 'nonsense']) {
    const url = `/account/factors/${id}`
    const reply = await service.request({ method: 'DELETE', url, headers: theirs.bearer })
    assert.equal(reply.statusCode, 404)
  }
})

test('a wrong code does not confirm an app, and five of them end the try', async () => {
  const person = await service.register()
  const begun = await service.post('/account/factors/totp', {}, person.bearer)
  const { secret } = begun.json<{ secret: string }>()
  const confirm = (code: string) =>
    service.post('/account/factors/totp/confirm', { code }, person.bearer)
  for (let index = 0; index < 5; index++) assert.equal((await confirm('12345x')).statusCode, 400)
  assert.equal((await confirm(codeOf(secret, clock.now()))).statusCode, 400)
  const { factor } = await addTotp(service, person)
  assert.equal(factor.kind, 'totp')
})

test('a password that is changed between the steps ends the sign-in; a reset by mail keeps the factor', async () => {
  const person = await service.register()
  // Of an address that nobody has confirmed the first reset ends everything.
  await verifyAddress(service, person)
  const { secret } = await addTotp(service, person)
  nextStep()
  const question = await ask(service, person)
  await service.post('/auth/forgot-password', { email: person.email })
  await sendQueuedMail(service)
  const token = readResetToken(person.email)
  const new_password = 'a new good password'
  const reset = await service.post('/auth/reset-password', { token, new_password })
  assert.equal(reset.statusCode, 200, reset.body)
  const totp = codeOf(secret, clock.now())
  assert.equal((await answer(service, question.challenge_id, { totp })).statusCode, 401)
  const { challenge_id } = await ask(service, person, new_password)
  assert.equal((await answer(service, challenge_id, { totp })).statusCode, 200)
})

function readResetToken(email: string): string {
  const folder = path.join(service.data_dir, 'mail')
  const mails = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'))
  const mail = mails.find((text) => text.includes(email) && text.includes('svc_reset_')) ?? ''
  return /svc_reset_[A-Za-z0-9_-]{43}/.exec(mail.replaceAll('=\r\n', ''))?.[0] ?? ''
}

test('the database holds the secret of an app sealed, and recovery codes as digests', async () => {
  const person = await service.register()
  const { secret, recovery_codes } = await addTotp(service, person)
  const rows = await sql<{ row: string }>(
    service.database_url,
    `select f::text as row from factor f
     union all select r::text from recovery_code r
     union all select c::text from factor_challenge c`,
  )
  const dump = rows.map(({ row }) => row).join('\n')
  assert.ok(dump.includes(person.user_id))
  for (const code of [secret, ...(recovery_codes ?? [])]) {
    assert.ok(!dump.includes(code) && !dump.includes(code.replaceAll('-', '')))
  }
})

test('a proof is exactly one, and nonsense is a 4xx', async () => {
  const person = await service.register()
  await addTotp(service, person)
  const { challenge_id } = await ask(service, person)
  for (const proof of [{}, { totp: '1', recovery_code: '2' }, { passkey: {} }, { totp: 5 }]) {
    const reply = await answer(service, challenge_id, proof)
    assert.equal(reply.statusCode, 400, JSON.stringify(proof))
  }
  const made_up = { id: 'AA', rawId: 'AA', type: 'public-key' }
  const response = { clientDataJSON: 'AA', authenticatorData: 'AA', signature: 'AA' }
  const reply = await answer(service, challenge_id, { passkey: { ...made_up, response } })
  assert.equal(reply.statusCode, 401)
  const given = {
    name: 'x',
    response: { ...made_up, response: { ...response, attestationObject: '_w' } },
  }
  await beginPasskey(service, person)
  const added = await service.post('/account/factors/passkeys', given, person.bearer)
  assert.equal(added.statusCode, 400)
})

test('a secret that an older key sealed is sealed anew', async () => {
  const [old_key, new_key] = [mintSecretKey(), mintSecretKey()]
  const first = await createApp({ settings: { SECRETS_KEY: `old:${old_key}` } })
  const person = await first.register()
  const { secret } = await addTotp(first, person)
  const both = new SecretBox(() => parseSecretKeys(`new:${new_key},old:${old_key}`) ?? [])
  for (const job of factorJobs({ ...first.parts, secret_box: both })) {
    await job.run(new AbortController().signal)
  }
  await first.close()
  const rotated = await createApp({
    settings: { SECRETS_KEY: `new:${new_key}` },
    database_url: first.database_url,
  })
  rotated.clock.advance(31_000)
  const { challenge_id } = await ask(rotated, person)
  const totp = codeOf(secret, rotated.clock.now())
  assert.equal((await answer(rotated, challenge_id, { totp })).statusCode, 200)
  await rotated.close()
})
