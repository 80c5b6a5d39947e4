import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { collectLog } from '../../test/support/log.ts'
import { fc } from '../../test/support/same-cases.ts'
import { statement } from './db.ts'
import { ApiError } from './errors.ts'
import { createLog, redact } from './log.ts'
import { mintApiKey, mintSecret } from './tokens.ts'

/** What we issue, from the specification, and what our upstreams issue, from their documentation. */
const PREFIXES = [
  'sk-svc-',
  'sess_',
  'svc_token_',
  'svc_refresh_',
  'svc_secret_',
  'svc_code_',
  'svc_device_',
  'svc_verify_',
  'svc_reset_',
  'svc_notme_',
  'svc_leave_',
  'svc_take_',
  'svc_challenge_',
  'whsec_',
  'sk-ant-api03-',
  'sk-proj-',
  'sk_live_',
  'sk_test_',
  'rk_live_',
  'AIza',
]

const secrets = fc
  .tuple(fc.constantFrom(...PREFIXES), fc.stringMatching(/^[A-Za-z0-9_-]{20,60}$/))
  .map(([prefix, body]) => ({ prefix, body, secret: prefix + body }))

/** What may stand around a secret: quotes, separators, percent-encoding, other words. */
const before_text = fc.oneof(
  fc.constantFrom('', ' ', '"', '=', ':', '/', '%3D', 'Bearer ', 'token_', 'x', '\n', '?a=b&key='),
  fc.string(),
)
const after_text = fc.oneof(
  fc.constantFrom('', ' ', '"', '&b=c', '.', '\n', '%20', ','),
  fc.string({ unit: fc.constantFrom(...' .,;:!?()[]{}<>"\'/\\|&=+*%$#@~`^\n\t'.split('')) }),
)

describe('a secret', () => {
  test('that a device is known by is taken out, and the names of the ledger stay', () => {
    const token = mintSecret('dev_')
    const { log, text: written } = collectLog()
    log.info({ cookie_text: `svc_device=${token}`, account: 'dev_payable' }, 'seen')
    assert.ok(!written().includes(token.slice(4)))
    assert.ok(written().includes('dev_payable'))
  })

  test('never reaches the log through an error: message, stack, detail, code or any of its causes', () => {
    fc.assert(
      fc.property(secrets, before_text, after_text, ({ secret, body }, head, tail) => {
        const text = head + secret + tail
        const { log, text: written } = collectLog()
        const cause = new Error(`inner ${text}`, { cause: new Error(text, { cause: text }) })
        log.error({ err: new ApiError('internal_error', { detail: text, cause }) }, 'failed')
        log.error({ err: new Error(text) }, 'failed')
        log.error({ err: Object.assign(new Error('x'), { code: secret }) }, 'failed')
        log.error({ err: text }, 'failed')
        log.error({ err: new AggregateError([new Error(text)], text) }, 'failed')
        assert.equal(written().includes(body), false, written())
      }),
    )
  })

  test('never reaches the log through a message or a field of any name or depth', () => {
    fc.assert(
      fc.property(secrets, before_text, after_text, ({ secret, body }, head, tail) => {
        const text = head + secret + tail
        const { log, text: written } = collectLog()
        log.info(`told: ${text}`)
        log.info({ url: text, deep: { deeper: { deepest: [text] } } }, 'told')
        log.child({ bound: text }).info('told')
        assert.equal(written().includes(body), false, written())
      }),
    )
  })

  test('leaves its prefix, so that a reader knows what stood there, and the rest of the line', () => {
    fc.assert(
      fc.property(secrets, ({ prefix, secret }) => {
        const shown = redact(`before ${secret} after`)
        assert.ok(shown.startsWith('before '))
        assert.ok(shown.endsWith(' after'))
        assert.ok(shown.includes(prefix.slice(0, 4)))
        assert.ok(shown.includes('[redacted]'))
      }),
    )
  })

  test('that we really mint is recognised', () => {
    for (const secret of [mintApiKey(), ...PREFIXES.slice(1, 9).map((one) => mintSecret(one))]) {
      assert.doesNotMatch(redact(secret), new RegExp(secret.slice(-20)))
    }
  })

  test('of a webhook is taken out whole, with the + and / of its base64', () => {
    assert.equal(redact('a whsec_ab+/cd+/ef==, b'), 'a whsec_[redacted], b')
    assert.equal(redact('a whsec_+/cdefgh= b'), 'a whsec_[redacted] b')
  })

  test('in a field named for one is replaced, whatever it looks like', () => {
    const { log, text, lines } = collectLog()
    for (const name of [
      'password',
      'current_password',
      'new_password',
      'authorization',
      'cookie',
    ]) {
      log.info({ [name]: 'hunter2 hunter2' }, 'flat')
      log.info({ body: { [name]: 'hunter2 hunter2' } }, 'nested')
    }
    assert.doesNotMatch(text(), /hunter2/)
    assert.equal(lines().length, 10)
  })
})

describe('a row that the database would not take', () => {
  let url = ''
  before(async () => {
    url = await createDatabase()
    await sql(
      url,
      `create table person (hash text, age int, constraint person_age check (age > 0))`,
    )
  })

  test('is not copied into the log by the error of the database', async (t) => {
    const insert = statement('test.person', 'insert into person values ($1, $2)')
    const db = openDb(url)
    t.after(() => db.close())
    const { log, text, lines } = collectLog()
    await assert.rejects(db.run(insert, ['(a hash, with) brackets', -1]), (error) => {
      log.error({ err: error }, 'failed')
      return true
    })
    assert.doesNotMatch(text(), /a hash/)
    const described = lines()[0]?.['err'] as { code: string; message: string }
    assert.equal(described.code, '23514')
    assert.match(described.message, /person_age/)
  })
})

describe('a line', () => {
  test('is one line of JSON with level, time, message and fields', () => {
    const { log, text, lines } = collectLog()
    log.warn({ request_id: 'req_1' }, 'two\nlines')
    assert.equal(text().split('\n').length, 2, 'not one line and its end')
    const [line] = lines()
    assert.equal(line?.level, 'warn')
    assert.equal(line?.msg, 'two\nlines')
    assert.equal(line?.['request_id'], 'req_1')
    const age_ms = Date.now() - new Date(String(line?.['time'])).getTime()
    assert.ok(age_ms >= 0 && age_ms < 5_000)
  })

  test('tells an error by type, code, message, stack and causes, and what was thrown that is none', () => {
    const { log, lines } = collectLog()
    const cause = Object.assign(new TypeError('inner'), { code: 'EINNER' })
    log.error({ err: new ApiError('internal_error', { detail: 'the detail', cause }) }, 'failed')
    log.error({ err: 'only text' }, 'failed')
    const [first, second] = lines()
    const err = first?.['err'] as Record<string, unknown>
    assert.equal(err['type'], 'ApiError')
    assert.equal(err['code'], 'internal_error')
    assert.equal(err['detail'], 'the detail')
    assert.match(String(err['stack']), /log\.test\.ts/)
    const inner = err['cause'] as Record<string, unknown>
    assert.equal(inner['type'], 'TypeError')
    assert.equal(inner['code'], 'EINNER')
    assert.equal(second?.['err'], 'only text')
  })

  test('of an error that is its own cause ends', () => {
    const { log, lines } = collectLog()
    const ring = new Error('ring')
    ring.cause = ring
    log.error({ err: ring }, 'failed')
    assert.equal(lines().length, 1)
  })

  test('below the level is not written, and silent writes nothing', () => {
    const warn = collectLog('warn')
    warn.log.info('no')
    warn.log.warn('yes')
    assert.deepEqual(
      warn.lines().map((line) => line.msg),
      ['yes'],
    )
    createLog({ level: 'silent' }).fatal('this would be seen in the test output')
  })
})
