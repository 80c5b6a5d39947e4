import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/same-cases.ts'
import { anthropicDialect } from './anthropic/dialect.ts'
import { findMember, removeMember, replaceValue } from './json-scan.ts'
import { openAiDialect } from './openai/dialect.ts'
import { keys, values } from './test-json.ts'

const created = new Date('2026-11-15T12:00:00Z')
const svc = {
  credits_used: 1n,
  balance_before: 3n,
  balance_after: 2n,
  billing_mode: 'user',
} as const
const answer = { call_id: 'call', model: 'm', created, events: [], svc }

const objects = fc.dictionary(
  fc.oneof(fc.constantFrom('model', 'usage', 'choices', 'x"model'), keys),
  values,
)

test('changing one member of a JSON text changes nothing else', () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(0, 2), (object, indent) => {
      const text = JSON.stringify(object, null, indent)
      const member = findMember(text, 'model')
      assert.equal(member !== undefined, Object.hasOwn(object, 'model'))
      if (member === undefined) return
      assert.deepEqual(
        JSON.parse(text.slice(member.valueStart, member.valueEnd)),
        JSON.parse(JSON.stringify(object['model'])),
      )
      const renamed = JSON.parse(replaceValue(text, member, '"public"'))
      assert.deepEqual(renamed, JSON.parse(JSON.stringify({ ...object, model: 'public' })))
      const { model: _model, ...rest } = object
      assert.deepEqual(JSON.parse(removeMember(text, member)), JSON.parse(JSON.stringify(rest)))
    }),
    { numRuns: 1000 },
  )
})

test('a relayed body keeps every other field, and no text makes the relay throw', () => {
  fc.assert(
    fc.property(objects, fc.string(), (object, noise) => {
      const body = JSON.stringify({ ...object, model: 'theirs' })
      const relayed = JSON.parse(anthropicDialect.relayReply(body, { ...answer, model: 'ours' }))
      assert.deepEqual(relayed, {
        ...JSON.parse(body),
        model: 'ours',
        svc: { credits_used: 1, balance_before: 3, balance_after: 2, billing_mode: 'user' },
      })
      for (const dialect of [openAiDialect, anthropicDialect]) {
        const stream = dialect.openStream({
          call_id: 'call',
          model: 'm',
          created,
          include_usage: false,
        })
        stream.relay({ name: 'message_start', data: noise })
        stream.relay({ name: undefined, data: body.slice(0, noise.length * 3) })
      }
    }),
  )
})
