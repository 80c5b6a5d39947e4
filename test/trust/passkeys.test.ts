// Passkeys over the API: how one is added and signs in, and what is no answer of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { createAuthenticator, type Faults } from '../support/authenticator.ts'
import { addPasskey, addTotp, answer, ask, beginPasskey, ORIGIN } from '../support/factors.ts'

const service = await createApp()

test('a passkey is added and signs in; its assertion and its registration work once', async () => {
  const person = await service.register()
  const options = await beginPasskey(service, person)
  assert.equal(options.rp?.id, 'localhost')
  const authenticator = createAuthenticator(ORIGIN)
  const given = { name: 'Phone', response: authenticator.register(options) }
  const added = await service.post('/account/factors/passkeys', given, person.bearer)
  assert.equal(added.statusCode, 201, added.body)
  assert.equal(added.json<{ recovery_codes: string[] }>().recovery_codes.length, 10)
  const twice = await service.post('/account/factors/passkeys', given, person.bearer)
  assert.equal(twice.statusCode, 400)

  const question = await ask(service, person)
  assert.deepEqual(question.factors, ['passkey', 'recovery_code'])
  assert.ok(question.passkey_options)
  const passkey = authenticator.assert(question.passkey_options)
  assert.equal((await answer(service, question.challenge_id, { passkey })).statusCode, 200)
  assert.equal((await answer(service, question.challenge_id, { passkey })).statusCode, 401)
  const next = await ask(service, person)
  assert.equal((await answer(service, next.challenge_id, { passkey })).statusCode, 401)
})

test('an assertion of a wrong origin, name, challenge, type, count or key is refused', async () => {
  const person = await service.register()
  const { authenticator } = await addPasskey(service, person)
  await answer(service, ...(await signed(person, authenticator, {})))
  const faults: Faults[] = [
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:9999' },
    { rp_id: 'evil.example' },
    { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
    { type: 'webauthn.create' },
    { count: 1 },
  ]
  for (const fault of faults) {
    const reply = await answer(service, ...(await signed(person, authenticator, fault)))
    assert.equal(reply.statusCode, 401, JSON.stringify(fault))
  }
  const stranger = createAuthenticator(ORIGIN)
  const reply = await answer(service, ...(await signed(person, stranger, {})))
  assert.equal(reply.statusCode, 401)
  const [challenge_id, proof] = await signed(person, stranger, {})
  const borrowed = { ...proof.passkey, id: authenticator.id, rawId: authenticator.id }
  assert.equal((await answer(service, challenge_id, { passkey: borrowed })).statusCode, 401)
  const good = await answer(service, ...(await signed(person, authenticator, { count: 50 })))
  assert.equal(good.statusCode, 200)
})

async function signed(
  person: { email: string },
  authenticator: Pick<ReturnType<typeof createAuthenticator>, 'assert'>,
  faults: Faults,
) {
  const { challenge_id, passkey_options } = await ask(service, person)
  assert.ok(passkey_options)
  return [challenge_id, { passkey: authenticator.assert(passkey_options, faults) }] as const
}

test('a registration of a wrong origin or challenge is refused, and a passkey has one owner', async () => {
  const [mine, theirs] = [await service.register(), await service.register()]
  for (const fault of [{ origin: 'https://evil.example' }, { rp_id: 'evil.example' }]) {
    const response = createAuthenticator(ORIGIN).register(await beginPasskey(service, mine), fault)
    const given = { name: 'Phone', response }
    const reply = await service.post('/account/factors/passkeys', given, mine.bearer)
    assert.equal(reply.statusCode, 400)
  }
  const authenticator = createAuthenticator(ORIGIN)
  const add = async (person: typeof mine, options: { challenge: string }) =>
    await service.post(
      '/account/factors/passkeys',
      { name: 'Phone', response: authenticator.register(options) },
      person.bearer,
    )
  const options = await beginPasskey(service, mine)
  assert.equal((await add(theirs, options)).statusCode, 400, 'nothing was asked of them')
  await beginPasskey(service, theirs)
  assert.equal((await add(theirs, options)).statusCode, 400, 'not what was asked of them')
  assert.equal((await add(mine, options)).statusCode, 201)
  const again = await add(theirs, await beginPasskey(service, theirs))
  assert.match(again.body, /registered already/)
})

test('of a service at an IP address passkeys are refused with words, and apps work', async () => {
  const local = await createApp({ settings: { PUBLIC_URL: 'http://127.0.0.1:8080' } })
  const person = await local.register()
  const refused = await local.post('/account/factors/passkeys/options', {}, person.bearer)
  assert.equal(refused.statusCode, 400)
  assert.match(refused.body, /IP address/)
  await addTotp(local, person)
  assert.deepEqual((await ask(local, person)).factors, ['totp', 'recovery_code'])
  await local.close()
})
