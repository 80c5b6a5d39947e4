import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../test/support/same-cases.ts'
import { ConfigError, describeSettings, loadConfig, type SettingName } from './config.ts'

/** From the contract: what a process has when nothing is set. */
const DEFAULTS = {
  PORT: 8080,
  HOST: '127.0.0.1',
  PUBLIC_URL: 'http://localhost:8080',
  DATA_DIR: '.data',
  DATABASE_URL: undefined,
  SECRETS_KEY: undefined,
  REDIS_URL: undefined,
  SVC_MODE: 'sandbox',
  ROLE: 'all',
  WORKERS: 1,
  WORKER_PORT: 8081,
  WELCOME_CREDITS: 1_000_000n,
  VERIFIED_CREDITS: 0n,
  PROMOTIONAL_CREDITS: 'as_money',
  RATE_LIMIT_PER_MINUTE: 100,
  SESSION_LIMIT_PER_MINUTE: 300,
  REGISTER_LIMIT_PER_MINUTE: 3,
  REGISTER_SITE_LIMIT_PER_MINUTE: undefined,
  REGISTER_REGION_LIMIT_PER_MINUTE: undefined,
  REGISTER_SERVICE_LIMIT_PER_MINUTE: undefined,
  CALLS_AT_ONCE_MAX: 200,
  LOGIN_LIMIT_PER_MINUTE: 5,
  VERIFICATION_LIMIT_PER_HOUR: 3,
  PASSWORD_LIMIT_PER_15_MINUTES: 5,
  FUNDING_LIMIT_PER_MINUTE: 30,
  SMTP_URL: undefined,
  TRUST_PROXY: [],
  METRICS_TOKEN: undefined,
  LOG_LEVEL: 'info',
  MODEL_SUCCESSORS: 'off',
  STEP_UP: 'with_second_factor',
} as const

const WHOLE_NUMBERS = [
  'PORT',
  'WORKER_PORT',
  'WORKERS',
  'DATABASE_POOL_SIZE',
  'RATE_LIMIT_PER_MINUTE',
  'SESSION_LIMIT_PER_MINUTE',
  'REGISTER_LIMIT_PER_MINUTE',
  'REGISTER_SITE_LIMIT_PER_MINUTE',
  'CALLS_AT_ONCE_MAX',
  'LOGIN_LIMIT_PER_MINUTE',
  'VERIFICATION_LIMIT_PER_HOUR',
  'PASSWORD_LIMIT_PER_15_MINUTES',
  'FUNDING_LIMIT_PER_MINUTE',
  'KEYS_PER_ACCOUNT_MAX',
  'WELCOME_CREDITS',
  'DRAIN_MS',
  'SHUTDOWN_GRACE_MS',
] as const

const NO_WHOLE_NUMBERS = [
  '-1',
  '1.5',
  '1e3',
  '0x10',
  ' 8',
  '8 ',
  'ten',
  'NaN',
  'Infinity',
  '１',
  '+1',
]

const ADDRESSES = {
  PUBLIC_URL: ['http', 'https'],
  DATABASE_URL: ['postgres', 'postgresql'],
  REDIS_URL: ['redis', 'rediss'],
  SMTP_URL: ['smtp', 'smtps'],
} as const

describe('a setting that is not set', () => {
  test('has the default of the contract', () => {
    const config = loadConfig({})
    for (const [name, expected] of Object.entries(DEFAULTS)) {
      assert.deepEqual(config[name as keyof typeof DEFAULTS], expected, name)
    }
  })

  test('or is set to nothing is the same', () => {
    const empty = Object.fromEntries(settingNames().map((name) => [name, '']))
    assert.deepEqual(loadConfig(empty), loadConfig({}))
  })

  test('and is PUBLIC_URL follows the port', () => {
    assert.equal(loadConfig({ PORT: '9000' }).PUBLIC_URL, 'http://localhost:9000')
    const both = { PORT: '9000', PUBLIC_URL: 'https://svc.example.com' }
    assert.equal(loadConfig(both).PUBLIC_URL, 'https://svc.example.com')
  })
})

test('in live mode new accounts get little, and what nobody paid for can only be spent, unless told otherwise', () => {
  const { WELCOME_CREDITS, VERIFIED_CREDITS, PROMOTIONAL_CREDITS } = loadConfig({
    SVC_MODE: 'live',
  })
  assert.deepEqual(
    [WELCOME_CREDITS, VERIFIED_CREDITS, PROMOTIONAL_CREDITS],
    [100n, 0n, 'spend_only'],
  )
  const told = loadConfig({
    SVC_MODE: 'live',
    WELCOME_CREDITS: '7',
    PROMOTIONAL_CREDITS: 'as_money',
  })
  assert.deepEqual([told.WELCOME_CREDITS, told.PROMOTIONAL_CREDITS], [7n, 'as_money'])
  assertRefused('PROMOTIONAL_CREDITS', 'money', /spend_only/)
})

test('successors serve retired models in live mode unless they are switched off, in sandbox mode if switched on', () => {
  const successors = (SVC_MODE: string, MODEL_SUCCESSORS = '') =>
    loadConfig({ SVC_MODE, MODEL_SUCCESSORS }).MODEL_SUCCESSORS
  assert.deepEqual([successors('sandbox'), successors('sandbox', 'on')], ['off', 'on'])
  assert.deepEqual([successors('live'), successors('live', 'off')], ['on', 'off'])
  assert.throws(() => successors('live', 'maybe'), /MODEL_SUCCESSORS="maybe" is not allowed/)
})

describe('a setting that is set', () => {
  test('is taken, and others of the environment are not', () => {
    const config = loadConfig({
      PORT: '0',
      ROLE: 'worker',
      SVC_MODE: 'live',
      LOG_LEVEL: 'debug',
      WELCOME_CREDITS: '9007199254740991',
      TRUST_PROXY: '10.0.0.0/8, fd00::/8',
      DATABASE_URL: 'postgresql://user:pw@db/svc?sslmode=require',
      METRICS_TOKEN: 'secret',
      HOME: '/root',
    })
    assert.equal(config.PORT, 0)
    assert.equal(config.ROLE, 'worker')
    assert.equal(config.SVC_MODE, 'live')
    assert.equal(config.LOG_LEVEL, 'debug')
    assert.equal(config.WELCOME_CREDITS, 9_007_199_254_740_991n)
    assert.deepEqual(config.TRUST_PROXY, ['10.0.0.0/8', 'fd00::/8'])
    assert.equal(config.DATABASE_URL, 'postgresql://user:pw@db/svc?sslmode=require')
    assert.equal(config.METRICS_TOKEN, 'secret')
    assert.equal('HOME' in config, false)
  })

  test('loses the slashes at the end of PUBLIC_URL, because paths are put behind it', () => {
    assert.equal(loadConfig({ PUBLIC_URL: 'https://a.example//' }).PUBLIC_URL, 'https://a.example')
    assert.equal(
      loadConfig({ PUBLIC_URL: 'https://a.example/svc/' }).PUBLIC_URL,
      'https://a.example/svc',
    )
  })
})

describe('a wrong value is refused by one line that names variable, value and what is allowed', () => {
  for (const name of WHOLE_NUMBERS) {
    test(`${name} that is no whole number, or out of range`, () => {
      for (const value of [...NO_WHOLE_NUMBERS, '99999999999999999999']) {
        assertRefused(name, value, /a whole number .*from \d+ to \d+/)
      }
    })
  }

  test('limits and counts of zero', () => {
    for (const name of WHOLE_NUMBERS) {
      if (/^(PORT|WORKER_PORT|WELCOME_CREDITS|DRAIN_MS|SHUTDOWN_GRACE_MS)$/.test(name)) {
        assert.equal(Number(loadConfig({ [name]: '0' })[name]), 0)
      } else {
        assertRefused(name, '0', /from [12] to/)
      }
    }
  })

  test('PORT 65536, and more credits than a JSON reader can hold', () => {
    assert.equal(loadConfig({ PORT: '65535' }).PORT, 65_535)
    assertRefused('PORT', '65536', /from 0 to 65535/)
    assertRefused('WELCOME_CREDITS', '9007199254740992', /from 0 to 9007199254740991/)
  })

  test('PORT and WORKER_PORT that are the same, where one machine would open both', () => {
    const same = { PORT: '9000', WORKER_PORT: '9000' }
    assert.throws(() => loadConfig({ ...same, WORKERS: '2' }), {
      message: 'PORT and WORKER_PORT are both 9000: set one of them to another port',
    })
    for (const ROLE of ['api', 'worker']) assert.equal(loadConfig({ ...same, ROLE }).PORT, 9000)
    assert.equal(loadConfig({ PORT: '0', WORKER_PORT: '0', WORKERS: '2' }).PORT, 0)
  })

  test('a word that is not in the list', () => {
    assertRefused('ROLE', 'API', /all \| api \| worker/)
    assertRefused('SVC_MODE', 'production', /sandbox \| live/)
    assertRefused(
      'LOG_LEVEL',
      'verbose',
      /fatal \| error \| warn \| info \| debug \| trace \| silent/,
    )
    assertRefused('LOG_LEVEL', 'constructor', /fatal/)
  })

  for (const [name, schemes] of Object.entries(ADDRESSES)) {
    test(`${name} with another scheme, with none, or with spaces`, () => {
      for (const scheme of schemes) {
        const value = `${scheme}://host.example:1234`
        assert.equal(loadConfig({ [name]: value })[name as keyof typeof ADDRESSES], value)
      }
      const allowed = new RegExp(schemes.map((scheme) => `${scheme}://`).join(' or '))
      const wrong = [
        'host.example',
        'host.example:5432',
        'ftp://host.example',
        'file:///etc/passwd',
        '//host.example',
        `${schemes[0]}:host.example`,
        ` ${schemes[0]}://host.example`,
        `${schemes[0]}://host.example `,
        `${schemes[0]}://ho st.example`,
        `x${schemes[0]}://host.example`,
      ]
      for (const value of wrong) assertRefused(name as SettingName, value, allowed)
    })
  }

  test('TRUST_PROXY that trusts everyone, a number of hops, or something that is no range', () => {
    const wrong = [
      'true',
      '1',
      'false',
      'loopback',
      '*',
      '10.0.0.1',
      '0.0.0.0/0',
      '::/0',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '10.0.0.0/-8',
      '10.0.0.0/8,',
      ',10.0.0.0/8',
      '10.0.0.0/8 fd00::/8',
      'proxy.example/8',
      '10.0.0.0/8,true',
    ]
    for (const value of wrong)
      assertRefused('TRUST_PROXY', value, /CIDR ranges such as 10\.0\.0\.0\/8/)
  })

  test('any text for any setting is either taken or refused that way', () => {
    const names = settingNames()
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ minLength: 1 }), (name, value) => {
        try {
          loadConfig({ [name]: value })
        } catch (error) {
          assertDescribed(error, name)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('a secret', () => {
  test('is not printed when it is refused', () => {
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL'] as const) {
      assert.throws(
        () => loadConfig({ [name]: 'user:hunter2@host' }),
        (error) => {
          assertDescribed(error, name)
          assert.doesNotMatch(String(error), /hunter2/)
          return true
        },
      )
    }
  })
})

describe('the description of the settings', () => {
  test('names every setting with what is allowed, all commented out', () => {
    const text = describeSettings()
    for (const line of text.split('\n')) assert.ok(line === '' || line.startsWith('#'), line)
    for (const name of Object.keys(DEFAULTS)) {
      assert.match(text, new RegExp(`^# .+\\n# Allowed: .+\\n#${name}=`, 'm'))
    }
  })

  test('shows defaults that are themselves allowed and mean what they say', () => {
    const shown = Object.fromEntries(
      [...describeSettings().matchAll(/^#([A-Z0-9_]+)=(.*)$/gm)].map(([, name, value]) => [
        name ?? '',
        value ?? '',
      ]),
    )
    assert.equal(shown['RATE_LIMIT_PER_MINUTE'], '100')
    assert.deepEqual(loadConfig(shown), loadConfig({}))
  })
})

function settingNames(): SettingName[] {
  return Object.keys(loadConfig({})) as SettingName[]
}

function assertRefused(name: SettingName, value: string, allowed: RegExp): void {
  assert.throws(
    () => loadConfig({ [name]: value }),
    (error) => {
      const message = assertDescribed(error, name)
      assert.match(message, allowed)
      if (!message.includes('(hidden)')) assert.ok(message.includes(JSON.stringify(value)), message)
      return true
    },
    `${name}=${JSON.stringify(value)} was taken`,
  )
}

function assertDescribed(error: unknown, name: string): string {
  assert.ok(error instanceof ConfigError, String(error))
  assert.match(error.message, new RegExp(`^${name}=.+ is not allowed: expected .+$`))
  assert.doesNotMatch(error.message, /[\r\n]/)
  return error.message
}

test('a percentage is read exactly, in hundredths of a percent', () => {
  for (const [text, value] of [
    ['0', 0],
    ['20', 2_000],
    ['12.5', 1_250],
    ['0.07', 7],
    ['1000', 100_000],
  ] as const) {
    assert.equal(loadConfig({ SERVICE_FEE_PERCENT: text }).SERVICE_FEE_PERCENT, value)
  }
  for (const text of ['1000.01', '-1', '1.234', '1e2', '1,5', ' 1']) {
    assert.throws(
      () => loadConfig({ SERVICE_FEE_PERCENT: text }),
      /^ConfigError|SERVICE_FEE_PERCENT=/,
    )
  }
})

test('a smallest top-up above the largest is refused, and the one that was set is named', () => {
  assertRefused('TOPUP_MAX_USD', '1', /at least TOPUP_MIN_USD, which is 5$/)
  assertRefused('TOPUP_MIN_USD', '1001', /at most TOPUP_MAX_USD, which is 1000$/)
  assert.throws(() => loadConfig({ TOPUP_MIN_USD: '50', TOPUP_MAX_USD: '20' }), {
    message: 'TOPUP_MIN_USD="50" is not allowed: expected at most TOPUP_MAX_USD, which is 20',
  })
})
