import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LIVE_SETTINGS } from '../test/support/live-settings.ts'
import { ConfigError, loadConfig } from './config.ts'
import { requireLiveSettings, settingWarnings } from './live-settings.ts'

type Env = Record<string, string>

const warningsOf = (env: Env) => settingWarnings(loadConfig(env))

function refusalOf(env: Env): string {
  try {
    requireLiveSettings(loadConfig({ ...LIVE_SETTINGS, ...env }))
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    assert.doesNotMatch(error.message, /[\r\n]|hunter2/)
    return error.message
  }
  return ''
}

describe('live mode does not start', () => {
  test('without a public https address that links can be made of', () => {
    for (const PUBLIC_URL of [
      '',
      'http://svc.example.com',
      'http://localhost:8080',
      'https://user:hunter2@svc.example.com',
      'https://hunter2@svc.example.com',
      'https://svc.example.com/?a=b',
      'https://svc.example.com?',
      'https://svc.example.com/#top',
    ]) {
      const message = refusalOf({ PUBLIC_URL })
      assert.match(message, /^PUBLIC_URL=.+ is not allowed: expected in live mode .+ https:\/\//)
      if (!PUBLIC_URL.includes('hunter2')) {
        assert.ok(message.includes(PUBLIC_URL.replace(/\/+$/, '')), message)
      }
    }
    for (const PUBLIC_URL of ['https://svc.example.com', 'https://svc.example.com:8443/gateway/']) {
      assert.equal(refusalOf({ PUBLIC_URL }), '')
    }
  })

  test('on plain http but on this machine, where that is allowed by name', () => {
    const ALLOW_INSECURE_PUBLIC_URL = 'loopback'
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:9000']) {
      assert.equal(refusalOf({ ALLOW_INSECURE_PUBLIC_URL, PUBLIC_URL: `http://${host}` }), '', host)
    }
    for (const host of [
      'svc.example.com',
      '127.0.0.1.example.com',
      'localhost.example.com',
      '10.0.0.1',
    ]) {
      assert.match(
        refusalOf({ ALLOW_INSECURE_PUBLIC_URL, PUBLIC_URL: `http://${host}` }),
        /^PUBLIC_URL=/,
        host,
      )
    }
    assert.match(
      refusalOf({ ALLOW_INSECURE_PUBLIC_URL, PUBLIC_URL: 'http://localhost/?a' }),
      /^PUBLIC_URL=/,
    )
    assert.throws(
      () => loadConfig({ ALLOW_INSECURE_PUBLIC_URL: 'yes' }),
      /^ConfigError|ALLOW_INSECURE_PUBLIC_URL="yes" is not allowed: expected loopback/,
    )
  })

  test('without a mail server', () => {
    assert.match(refusalOf({ SMTP_URL: '' }), /^SMTP_URL is not set: live mode needs a mail server/)
  })

  test('with a metrics token that can be guessed, which it does not print', () => {
    const message = refusalOf({ METRICS_TOKEN: 'hunter2' })
    assert.match(message, /^METRICS_TOKEN=\(hidden\) is not allowed: .+ at least 24 characters/)
    assert.notEqual(refusalOf({ METRICS_TOKEN: 'x'.repeat(23) }), '')
    assert.equal(refusalOf({ METRICS_TOKEN: 'x'.repeat(24) }), '')
    assert.equal(refusalOf({ METRICS_TOKEN: '' }), '')
  })
})

test('sandbox mode starts with all of that', () => {
  requireLiveSettings(loadConfig({}))
  requireLiveSettings(loadConfig({ METRICS_TOKEN: 'x', PUBLIC_URL: 'http://svc.example.com' }))
})

describe('a sandbox that strangers can reach', () => {
  const open = { PUBLIC_URL: 'https://svc.example.com' }

  test('warns of keys that cost real money, by name and without their values', () => {
    const [warning = '', ...more] = warningsOf({
      ...open,
      OPENAI_API_KEY: 'sk-hunter2',
      STRIPE_SECRET_KEY: 'sk_live_hunter2',
    })
    assert.deepEqual(more, [])
    assert.match(warning, /^SVC_MODE is sandbox.+OPENAI_API_KEY, STRIPE_SECRET_KEY/)
    assert.doesNotMatch(warning, /hunter2/)
  })

  test('does not warn without such keys, of stand-ins, or where only this machine is served', () => {
    const key = { OPENAI_API_KEY: 'sandbox' }
    assert.deepEqual(warningsOf(open), [])
    assert.deepEqual(warningsOf({ ...open, STRIPE_SECRET_KEY: 'sk_test_x' }), [])
    assert.deepEqual(
      warningsOf({ ...open, ...key, OPENAI_BASE_URL: 'http://127.0.0.1:4000/v1' }),
      [],
    )
    assert.deepEqual(warningsOf(key), [])
  })
})

test('live mode warns of what it can run with and should not', () => {
  const tidy = {
    ...LIVE_SETTINGS,
    PUBLIC_URL: 'https://svc.example.com',
    TRUST_PROXY: '10.0.0.0/8',
    MAIL_FROM: 'Svc <no-reply@svc.example.com>',
  }
  assert.deepEqual(warningsOf(tidy), [])
  for (const [env, name] of [
    [{ TRUST_PROXY: '' }, 'TRUST_PROXY'],
    [{ MAIL_FROM: '' }, 'MAIL_FROM'],
    [{ STRIPE_SECRET_KEY: 'sk_test_hunter2' }, 'STRIPE_SECRET_KEY'],
    [{ OPENAI_BASE_URL: 'http://proxy.example' }, 'OPENAI_BASE_URL'],
    [{ PUBLIC_URL: 'http://localhost', ALLOW_INSECURE_PUBLIC_URL: 'loopback' }, 'PUBLIC_URL'],
  ] as const) {
    const [warning = '', ...more] = warningsOf({ ...tidy, ...env })
    assert.ok(warning.startsWith(name), warning)
    assert.deepEqual(more, [])
  }
})
