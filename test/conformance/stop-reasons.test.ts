// Why an answer ended, in each format's own words (docs of both formats; the table in the provider notes).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCaller, PATHS } from '../support/gateway-caller.ts'

const gateway = await openCaller()

for (const path of PATHS) {
  const openai = path.format === 'openai'

  test(`${path.name}: an answer that is cut at the limit says so, and is as long as the limit`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:tokens=500]]', max_tokens: 200 })
    assert.equal(reply.stop, openai ? 'length' : 'max_tokens')
    assert.equal(reply.tokens.output, 200)
  })

  test(`${path.name}: an answer that a filter stopped half way arrives, is marked, and is billed`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:content_filter]] Go on.' })
    assert.equal(reply.stop, openai ? 'content_filter' : 'refusal')
    assert.notEqual(reply.text, '')
    assert.ok(reply.svc.credits_used > 0)
  })
}

// OpenAI's models that reason take no stop sequences.
for (const path of PATHS.filter(({ provider }) => provider !== 'responses')) {
  const openai = path.format === 'openai'

  test(`${path.name}: an answer ends before a stop sequence`, async () => {
    const text = '[[sandbox:echo]] one two HALT three'
    const reply = await gateway.ask(path, { text, stop: ['HALT', 'never'] })
    assert.equal(reply.text.trim(), 'one two')
    // Only Anthropic tells a stop sequence from an ordinary end.
    const told = path.provider === 'anthropic' && !openai
    assert.equal(reply.stop, openai ? 'stop' : told ? 'stop_sequence' : 'end_turn')
    assert.equal(reply.stop_sequence, told ? 'HALT' : null)
  })
}

for (const path of PATHS.filter(({ provider }) => ['openai', 'responses'].includes(provider))) {
  test(`${path.name}: a model that declines in words is heard, and the format says that it declined`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:refusal]]' })
    assert.equal(reply.stop, path.format === 'openai' ? 'stop' : 'refusal')
    assert.ok(reply.refusal)
  })
}

for (const path of PATHS.filter(({ provider }) => provider === 'anthropic')) {
  test(`${path.name}: a refusal without a word is an answer that says so, charged as reported`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:refusal]]' })
    assert.equal(reply.stop, path.format === 'openai' ? 'content_filter' : 'refusal')
    assert.equal(reply.text, '')
    assert.ok(reply.tokens.input > 0)
    assert.ok(reply.svc.credits_used > 0)
  })
}

for (const path of PATHS.filter(({ provider, stream }) => provider === 'google' && !stream)) {
  test(`${path.name}: a refusal without a word is an error, and free`, async () => {
    const refused = await gateway.refusal(path, { text: '[[sandbox:refusal]]' })
    assert.deepEqual([refused.status, refused.code], [400, 'content_filtered'])
  })
}

for (const path of PATHS.filter(({ provider, stream }) => provider === 'google' && stream)) {
  test(`${path.name}: a refusal without a word is an error in the stream or before it, and free`, async () => {
    const before = await gateway.balance()
    const response = await gateway.putQuestion(path, {
      model: path.model,
      text: '[[sandbox:refusal]]',
    })
    assert.match(response.body, /"code":"content_filtered"/)
    assert.doesNotMatch(response.body, /\[DONE\]|message_stop/)
    assert.deepEqual(await gateway.balance(), before)
  })
}
