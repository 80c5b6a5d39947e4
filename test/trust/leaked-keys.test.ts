import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { mintApiKey } from '../../src/platform/tokens.ts'
import { createApp, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const service = await createApp()
const other = await createApp({ database_url: service.database_url })
const URL_OF_LEAK = 'https://github.com/octocat/hello/blob/main/.env'

const report = (body: unknown, headers: Record<string, string> = {}, at: TestApp = service) =>
  at.post('/v1/keys/leaked', body, headers)
const finding = (token: string, more: object = {}) => ({
  token,
  type: 'svc_api_key',
  url: URL_OF_LEAK,
  source: 'content',
  ...more,
})
const verdict = (token: string, label: string) => ({
  token_hash: hash('sha256', token),
  token_type: 'svc_api_key',
  label,
})
const use = async (key: string, at: TestApp = service) =>
  (await at.request({ url: '/v1/key', headers: { 'x-api-key': key } })).statusCode
const leaksOf = (account_id: string) =>
  sql<{ details: Record<string, unknown>; ip: string | null }>(
    service.database_url,
    "select details, ip from security_event where account_id = $1 and kind = 'key_leaked' order by at",
    [account_id],
  )

async function newKey(more: object = {}) {
  const { bearer, user_id } = await service.register()
  const { key, id } = await service.createKey(bearer, more)
  return { bearer, user_id, key, id }
}

describe('a report of a leaked key', () => {
  test('ends it at once, on every process, and tells its owner where it was found', async () => {
    const { user_id, key, id } = await newKey({ name: 'prod' })
    const spared = await newKey()
    assert.equal(await use(key, other), 200)
    const reply = await report([finding(key)])
    assert.equal(reply.statusCode, 200)
    assert.deepEqual(reply.json(), [verdict(key, 'true_positive')])
    assert.equal(await use(key), 401)
    await eventually('it ends elsewhere', async () => (await use(key, other)) === 401, 1_000)
    assert.equal(await use(spared.key), 200)
    const leaks = await leaksOf(user_id)
    assert.deepEqual(
      leaks.map(({ details }) => details),
      [
        {
          key_id: id,
          name: 'prod',
          prefix: key.slice(0, 12),
          secret: 'current',
          found_at: URL_OF_LEAK,
          source: 'content',
          signed: false,
        },
      ],
    )
  })

  test('that comes again gets the same answer and is recorded once', async () => {
    const { user_id, key } = await newKey()
    const twice = await report([finding(key), finding(key, { url: 'https://elsewhere.example/' })])
    assert.deepEqual(twice.json(), [verdict(key, 'true_positive'), verdict(key, 'true_positive')])
    assert.deepEqual((await report([finding(key)])).json(), [verdict(key, 'true_positive')])
    assert.equal((await leaksOf(user_id)).length, 1)
  })

  test('ends only the secret that leaked where a rotation has replaced it', async () => {
    const { bearer, user_id, key, id } = await newKey()
    const rotated = await service.post(
      `/developers/keys/${id}/rotate`,
      { overlap_hours: 24 },
      bearer,
    )
    const next = rotated.json().key
    assert.deepEqual((await report([finding(key)])).json(), [verdict(key, 'true_positive')])
    assert.deepEqual([await use(key), await use(next)], [401, 200])
    assert.deepEqual((await report([finding(key)])).json(), [verdict(key, 'true_positive')])
    const leaks = await leaksOf(user_id)
    assert.deepEqual([leaks.length, leaks[0]?.details['secret']], [1, 'previous'])
    await report([finding(next)])
    assert.equal(await use(next), 401)
  })

  test('of what is no key of ours changes nothing, and asks the database only where the checksum is right', async () => {
    const asked = async () =>
      (await service.parts.metrics.db_statements.get()).values.find(
        ({ labels, metricName }) =>
          labels.statement === 'keys.lock_leaked' && metricName?.endsWith('_count'),
      )?.value ?? 0
    const before = await asked()
    const junk = ['', 'x', `sk-svc-${'A'.repeat(32)}`, 'sess_abc', 'ghp_0123456789']
    const reply = await report(junk.map((token) => finding(token)))
    assert.deepEqual(
      reply.json(),
      junk.map((token) => verdict(token, 'false_positive')),
    )
    assert.equal(await asked(), before)
    const unknown = mintApiKey()
    assert.deepEqual((await report([finding(unknown)])).json(), [
      verdict(unknown, 'false_positive'),
    ])
    assert.equal(await asked(), before + 1)
    assert.deepEqual((await report([])).json(), [])
  })

  test('keeps no secret: neither of the address it was found at, nor of the token', async () => {
    const { user_id, key } = await newKey()
    const url = `https://user:hunter2@paste.example/${key}/raw?token=hunter2#hunter2`
    await report([finding(key, { url, source: 's'.repeat(1000) })])
    const [leak] = await leaksOf(user_id)
    assert.equal(leak?.details['found_at'], 'https://paste.example/sk-svc-…/raw')
    assert.equal(String(leak?.details['source']).length, 50)
    assert.ok(!service.log_lines.join('').includes(key))
    const odd = await newKey()
    await report([finding(odd.key, { url: 'javascript:alert(1)' })])
    assert.equal((await leaksOf(odd.user_id))[0]?.details['found_at'], null)
  })

  test('that is no list of findings is refused with 400', async () => {
    const wrong = [
      {},
      null,
      'text',
      [1],
      [null],
      [{}],
      [{ token: 5 }],
      [{ token: 'a\u0000b' }],
      [finding('x'.repeat(1001))],
      [finding('x', { type: {} })],
      [finding('x', { url: 'x'.repeat(4001) })],
      Array.from({ length: 101 }, () => finding('x')),
    ]
    for (const body of wrong) {
      const reply = await report(body)
      assert.equal(reply.statusCode, 400, JSON.stringify(body).slice(0, 100))
      assert.equal(reply.json().error.code, 'bad_request')
    }
    for (const payload of ['{', '', '['.repeat(200_000)]) {
      const reply = await service.request({
        method: 'POST',
        url: '/v1/keys/leaked',
        headers: { 'content-type': 'application/json' },
        payload,
      })
      assert.equal(reply.statusCode, 400)
    }
    assert.equal((await report([finding('x'.repeat(600_000))])).statusCode, 413)
  })

  test('is counted by address like every request', async () => {
    const tight = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '2' } })
    const codes = []
    for (let i = 0; i < 3; i++) codes.push((await report([], {}, tight)).statusCode)
    assert.deepEqual(codes, [200, 200, 429])
  })
})

describe('a signed report', () => {
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pemOf = ({ publicKey }: ReturnType<typeof pair>) =>
    publicKey.export({ type: 'spki', format: 'pem' })
  const github = pair()
  const signed = (body: unknown, { privateKey } = github) => ({
    'github-public-key-identifier':
      'bcb53661c06b4728e59d897fb6165d5c9cda0fd9cdf9d09ead458168deb7518c',
    'github-public-key-signature': sign('sha256', Buffer.from(JSON.stringify(body)), {
      key: privateKey,
      dsaEncoding: 'der',
    }).toString('base64'),
  })

  test('is held against SECRET_SCANNING_KEYS: a wrong signature is refused and ends nothing', async () => {
    const settings = { SECRET_SCANNING_KEYS: pemOf(github) }
    const strict = await createApp({ database_url: service.database_url, settings })
    const { key, user_id } = await newKey()
    const body = [finding(key)]
    for (const headers of [
      signed(body, pair()),
      signed([finding('other')]),
      { 'github-public-key-signature': 'nonsense' },
      { 'github-public-key-signature': '' },
    ]) {
      const reply = await report(body, headers, strict)
      assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
    }
    assert.equal(await use(key), 200)
    const reply = await report(body, signed(body), strict)
    assert.deepEqual(reply.json(), [verdict(key, 'true_positive')])
    assert.equal(await use(key, strict), 401)
    assert.equal((await leaksOf(user_id))[0]?.details['signed'], true)
  })

  test('is taken as unsigned where no keys are set', async () => {
    const { key, user_id } = await newKey()
    const body = [finding(key)]
    assert.equal((await report(body, signed(body, pair()))).statusCode, 200)
    assert.equal((await leaksOf(user_id))[0]?.details['signed'], false)
  })
})
