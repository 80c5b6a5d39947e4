// Streams that break after the first byte: the status is sent already, so the stream itself says what happened,
// in the envelope of its format, and what was delivered is charged. And providers that fall silent.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addCaller, openCaller, PATHS } from '../support/gateway-caller.ts'

const LIMIT_MS = 400

const gateway = await openCaller({
  PROVIDER_TIMEOUT_MS: String(LIMIT_MS),
  PROVIDER_IDLE_TIMEOUT_MS: String(LIMIT_MS),
})

const half = 'Go on and on. [[sandbox:tokens=60]]'

for (const path of PATHS.filter(({ stream }) => stream)) {
  const breaks = [
    { prompt: 'error_mid_stream', code: 'provider_unavailable' },
    { prompt: 'cut', code: 'provider_unavailable' },
    { prompt: 'garbage', code: 'upstream_error' },
  ]
  for (const { prompt, code } of breaks) {
    test(`${path.name}: [[sandbox:${prompt}]] ends the stream with ${code}, and what came is charged`, async () => {
      const { text, failure, credits_used } = await gateway.broken(path, {
        text: `${half} [[sandbox:${prompt}]]`,
      })
      assert.equal(failure.code, code)
      assert.notEqual(text, '')
      assert.ok(credits_used > 0)
      const row = await gateway.lastUsage()
      assert.deepEqual([row.credits_used, row.estimated], [credits_used, true])
      const whole = await gateway.ask(path, { text: half })
      assert.ok(credits_used < whole.svc.credits_used, 'half of it costs less than all of it')
    })
  }

  test(`${path.name}: a stream that ends too early in good order is not taken for a whole one`, async () => {
    const { failure } = await gateway.broken(path, { text: `${half} [[sandbox:end_after=4]]` })
    assert.equal(failure.code, 'provider_unavailable')
  })

  test(`${path.name}: an error in a stream stands in the same envelope as any other`, async () => {
    const { failure } = await gateway.broken(path, { text: `${half} [[sandbox:cut]]` })
    const { error, ...rest } = failure.body as { error: Record<string, unknown> }
    assert.match(String(error['docs_url']), /\/docs\/errors#provider_unavailable$/)
    if (path.format === 'openai') {
      assert.deepEqual(rest, {})
      assert.ok(error['request_id'])
    } else {
      assert.equal(error['type'], 'provider_unavailable')
      assert.deepEqual(Object.keys(rest).sort(), ['request_id', 'type'])
    }
  })
}

describe('a provider that falls silent', { concurrency: true }, () => {
  for (const path of PATHS.filter(({ stream }) => stream)) {
    test(`${path.name}: before the first byte it is 504 provider_timeout, and free`, async () => {
      const caller = await addCaller(gateway.service)
      const refused = await caller.refusal(path, { text: '[[sandbox:timeout]]' })
      assert.deepEqual([refused.status, refused.code], [504, 'provider_timeout'])
    })

    test(`${path.name}: in the middle it ends the stream, and what came is charged`, async () => {
      const caller = await addCaller(gateway.service)
      const { text, failure, credits_used } = await caller.broken(path, {
        text: `${half} [[sandbox:stall]]`,
      })
      assert.equal(failure.code, 'provider_timeout')
      assert.notEqual(text, '')
      assert.ok(credits_used > 0)
      const row = await caller.lastUsage()
      assert.deepEqual([row.credits_used, row.estimated], [credits_used, true])
    })
  }
})
