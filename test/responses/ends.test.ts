// How responses end, from end to end: at the limit that was asked for, and at the one that the credits set.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addResponder, openResponder } from '../support/responses.ts'
import { checkResponsesStream, type ResponseObject } from '../support/responses-stream.ts'

const { service } = await openResponder({ WELCOME_CREDITS: '2000' })
const MODELS = ['gpt-4o-mini', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-flash']
const LONGER_THAN_CREDITS = 'Go on. [[sandbox:tokens=5000]]'

/** Asked by somebody new, who has little. */
async function respond(body: { stream: boolean } & Record<string, unknown>) {
  const { post } = await addResponder(service)
  const reply = await post(body)
  assert.equal(reply.statusCode, 200, reply.body)
  const response: ResponseObject = body.stream
    ? checkResponsesStream(reply.body).response
    : reply.json()
  assert.equal(response.status, 'incomplete')
  assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' })
  return response
}

for (const model of MODELS) {
  for (const stream of [true, false]) {
    const kind = `${model}, ${stream ? 'streamed' : 'whole'}`
    test(`an answer of ${kind}, says it where the credits have shortened it`, async () => {
      const { svc } = await respond({ model, stream, input: LONGER_THAN_CREDITS })
      assert.match(svc?.hint ?? '', /add credits/)
      assert.ok((svc?.credits_used ?? 0) > 0)
    })

    test(`an answer of ${kind}, that is as long as it may be says nothing of credits`, async () => {
      const asked = { model, stream, input: 'Go on. [[sandbox:tokens=90]]', max_output_tokens: 16 }
      const { svc } = await respond(asked)
      assert.equal(svc?.hint, undefined)
    })
  }
}
