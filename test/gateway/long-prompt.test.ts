// Long prompts without a limit for the answer: what the provider is asked for fits into the model's window, and
// whoever counts the tokens of a prompt early, as Anthropic's clients do, gets a figure before the answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBooksClosed, chat, mark, promptTokensOf, startGateway } from '../support/gateway.ts'

const gateway = await startGateway()
const SENTENCE = 'We think that the plan for the next week is good and that they will like it. '

const WINDOWS = [
  ['gpt-4', 8_192],
  ['gpt-3.5-turbo', 16_385],
  ['gpt-4o', 128_000],
  ['anthropic/claude-sonnet-4', 200_000],
] as const

for (const [model, window] of WINDOWS) {
  test(`a prompt that fills three quarters of the window of ${model} is answered without a limit`, async () => {
    const { key } = await (await gateway.customer(10_000_000n)).newKey()
    const times = Math.floor((window * 0.75 * 4) / SENTENCE.length)
    const prompt = `${mark()} [[sandbox:tokens=40]] ${SENTENCE.repeat(times)}`
    const reply = await chat(gateway.url, { key, model, prompt })
    assert.equal(reply.status, 200, reply.text.slice(0, 500))
    const limit = sentLimit(gateway.sandbox.requests().at(-1)?.body)
    assert.ok(limit === undefined || limit >= 256, `${limit}`)
    assert.ok(promptTokensOf(prompt) + (limit ?? 0) <= window, `${limit}`)
  })
}

/** Undefined also where the stand-in has not kept the body, because it is too large. */
function sentLimit(body: unknown): number | undefined {
  const sent = body as { max_completion_tokens?: number; max_tokens?: number } | undefined
  return sent?.max_completion_tokens ?? sent?.max_tokens
}

test('a message from another provider’s model begins with an estimate of its prompt', async () => {
  const { key } = await (await gateway.customer(1_000_000n)).newKey()
  for (const model of ['gpt-4o-mini', 'google/gemini-2.0-flash']) {
    const prompt = `${mark()} [[sandbox:tokens=5]] ${SENTENCE.repeat(20)}`
    const reply = await chat(gateway.url, {
      key,
      model,
      prompt,
      dialect: 'anthropic',
      stream: true,
    })
    const told = [...reply.text.matchAll(/"input_tokens":(\d+)/g)].map((match) => Number(match[1]))
    const [estimate, exact] = told
    assert.equal(told.length, 2)
    assert.equal(exact, promptTokensOf(prompt))
    assert.ok(estimate && estimate > 0.7 * exact && estimate < 1.4 * exact, `${estimate}, ${exact}`)
  }
})

test('after all of this no hold is open and the ledger proves itself', async () => {
  await assertBooksClosed(gateway)
})
