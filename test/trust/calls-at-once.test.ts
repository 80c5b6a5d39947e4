// One payer has a bounded number of calls running at a time, and every end of a call makes room for the next.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

describe('calls of one payer at once', async () => {
  const service = await createApp({ settings: { CALLS_AT_ONCE_MAX: '3' } })
  const { key } = await service.createKey((await service.register()).bearer)
  const ask = (
    prompt: string,
    options: { by?: string; stream?: boolean; signal?: AbortSignal } = {},
  ) =>
    service.app.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: { 'x-api-key': options.by ?? key },
      ...(options.signal && { signal: options.signal }),
      payload: {
        model: 'gpt-4o-mini',
        messages: [{ role: 'user', content: prompt }],
        stream: options.stream ?? false,
      },
    })
  const isIdle = () => service.parts.running.payers === 0

  test('are refused past the limit, with a hint and a time, and other payers are not', async () => {
    const slow = Array.from({ length: 3 }, () => ask('[[sandbox:slow=1500]] hello'))
    await eventually('they run', () => service.parts.running.payers === 1)
    await wait(200)
    const refused = await ask('hello')
    assert.deepEqual([refused.statusCode, refused.json().error.code], [429, 'rate_limit_exceeded'])
    assert.match(refused.json().error.hint, /until one of them is over/)
    assert.ok(Number(refused.headers['retry-after']) >= 1)
    const other = await service.createKey((await service.register()).bearer)
    assert.equal((await ask('hello', { by: other.key })).statusCode, 200)
    for (const reply of await Promise.all(slow)) assert.equal(reply.statusCode, 200)
    assert.equal((await ask('hello')).statusCode, 200)
  })

  test('leave room behind however they end', async () => {
    for (const prompt of ['hello', '[[sandbox:500]]', '[[sandbox:429]]', '[[sandbox:cut]]']) {
      for (const stream of [false, true]) {
        for (let i = 0; i < 4; i++) await ask(prompt, { stream })
      }
    }
    const leaver = new AbortController()
    const left = ask('[[sandbox:slow=800]] hello', { stream: true, signal: leaver.signal })
    await wait(200)
    leaver.abort()
    await left.catch(() => {})
    await eventually('every call is over', isIdle)
    assert.equal((await ask('hello')).statusCode, 200)
    assert.ok(isIdle())
  })
})
