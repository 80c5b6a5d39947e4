// What may be an address, and what may be a password.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { createApp, PASSWORD } from '../support/app.ts'
import { resetPassword, verifyAddress } from '../support/mails.ts'
import { connect, createOAuthApp } from '../support/oauth.ts'

const service = await createApp({ settings: { PASSWORD_POLICY: 'common' } })
const lenient = await createApp()

describe('passwords', () => {
  const register = async (password: string, email = `p-${Math.random()}@example.com`) => {
    const reply = await service.post('/auth/register', { email, password })
    return reply.statusCode === 201
      ? 'taken'
      : `${reply.json().error.code}: ${reply.json().error.message}`
  }

  test('those that are guessed first are weak_password, in any case, and the message says why', async () => {
    for (const password of [
      '12345678',
      'Password1',
      'QWERTYUIOP',
      'iloveyou',
      'aaaaaaaaaa',
      '00000000',
    ]) {
      assert.match(await register(password), /^weak_password: .*everybody uses/, password)
    }
    assert.match(await register('short'), /^weak_password: .*too short/)
  })

  test('one’s own address, whole or before the @, is weak_password', async () => {
    const email = 'Grace.Hopper@example.com'
    assert.match(await register('grace.hopper@example.COM', email), /^weak_password: .*own address/)
    assert.match(await register('GRACE.HOPPER', email), /^weak_password: .*own address/)
    assert.match(await register('_Grace.Hopper_2026!', email), /^weak_password: .*own address/)
  })

  test('the name of the service, or a part of its host, is weak_password with digits around it', async () => {
    for (const password of ['svc12345', 'LocalHost!', '2026localhost']) {
      assert.match(await register(password), /^weak_password: .*name of this service/, password)
    }
    assert.equal(await register('local hosts of mine'), 'taken')
  })

  test('long passphrases are taken, also with a common word in them', async () => {
    for (const password of [
      PASSWORD,
      'password on a yellow note',
      'ein langer satz mit ümläuten',
    ]) {
      assert.equal(await register(password), 'taken')
    }
  })

  test('the rule holds where a password is changed or reset, and uses no link up', async () => {
    const { email, bearer } = await service.register()
    const change = await service.post(
      '/auth/change-password',
      { current_password: PASSWORD, new_password: 'password1' },
      bearer,
    )
    assert.deepEqual([change.statusCode, change.json().error.code], [400, 'weak_password'])
    const reset = await resetPassword(service, email, { new_password: 'Password1' })
    assert.deepEqual([reset.statusCode, reset.json().error.code], [400, 'weak_password'])
  })

  test('live mode refuses them by default, sandbox mode takes what the interface says', async () => {
    const live = {
      SVC_MODE: 'live',
      PUBLIC_URL: 'https://svc.example',
      SMTP_URL: 'smtp://mail.example',
      METRICS_TOKEN: 'a token that is long enough to be one',
    }
    assert.equal(loadConfig({}).PASSWORD_POLICY, 'length')
    assert.equal(loadConfig(live).PASSWORD_POLICY, 'common')
    assert.equal(loadConfig({ ...live, PASSWORD_POLICY: 'length' }).PASSWORD_POLICY, 'length')
    const reply = await lenient.post('/auth/register', {
      email: 'easy@example.com',
      password: '12345678',
    })
    assert.equal(reply.statusCode, 201)
  })
})

describe('addresses', () => {
  const register = (email: string) => lenient.post('/auth/register', { email, password: PASSWORD })

  test('what looks like another address, or hides something, is invalid_email', async () => {
    for (const email of [
      'ada＠example.com',
      'ada﹫example.com',
      'a\u200bda@example.com',
      'ada@exam\u200dple.com',
      '\u202eada@example.com',
      'ada\u2066@example.com',
      'ada@example\u3002com',
      'ada@example．com',
      'ada@example․com',
      'a\u00adda@example.com',
      'ada\ufe0f@example.com',
      'ada\ue000@example.com',
      'ada\u3164@example.com',
      `${'a'.repeat(250)}@example.com`,
      'a'.repeat(900),
    ]) {
      const reply = await register(email)
      assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'invalid_email'], email)
    }
  })

  test('what is stored is the address in its one form', async () => {
    const reply = await register('  Ｌin@example.com ')
    assert.equal(reply.json().user.email, 'Lin@example.com')
    const again = await register('lin@example.com')
    assert.equal(again.json().error.code, 'email_exists')
  })
})

test('userinfo says whether the address was confirmed', async () => {
  const [developer, user] = [await lenient.register(), await lenient.register()]
  const app = await createOAuthApp(lenient, developer)
  const { access_token } = await connect(lenient, { app, user })
  const headers = { authorization: `Bearer ${access_token}` }
  const read = async () => (await lenient.request({ url: '/oauth/userinfo', headers })).json()
  assert.equal((await read()).email_verified, false)
  await verifyAddress(lenient, user)
  const { email_verified, sub } = await read()
  assert.deepEqual([email_verified, sub], [true, user.user_id])
})
