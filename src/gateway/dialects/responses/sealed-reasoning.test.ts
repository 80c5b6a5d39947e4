// Thoughts come back as they went out, or not at all.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { mintSecretKey, parseSecretKeys, SecretBox } from '../../../platform/secret-box.ts'
import { ReasoningSeal, type SealedReasoning } from './sealed-reasoning.ts'

const [first, second] = [mintSecretKey(), mintSecretKey()]
const keysOf = (text: string) => () => parseSecretKeys(text) ?? []
const seal = new ReasoningSeal(keysOf(first))
const REASONING: SealedReasoning = {
  sealed_for: 'anthropic/claude-sonnet-4',
  thoughts: [
    { kind: 'thinking', text: 'Two tools “to” call', signature: 'c2ln' },
    { kind: 'redacted_thinking', data: 'opaque' },
  ],
  call_signatures: { call_1: 'proof' },
  text_signature: undefined,
}

test('what was sealed opens as it was, and shows nothing of itself before', () => {
  const sealed = seal.seal(REASONING)
  assert.match(sealed, /^svc1\.[\w-]+\.[\w-]+$/)
  assert.deepEqual(seal.open(sealed), REASONING)
  assert.ok(!Buffer.from(sealed.split('.')[2] ?? '', 'base64url').includes('tools'))
})

test('it opens with a key that is no longer the first, and not without it', () => {
  const sealed = seal.seal(REASONING)
  assert.deepEqual(new ReasoningSeal(keysOf(`${second},${first}`)).open(sealed), REASONING)
  assert.equal(new ReasoningSeal(keysOf(second)).open(sealed), undefined)
})

test('what is not ours, was changed or is another kind of secret opens as nothing', () => {
  const sealed = seal.seal(REASONING)
  const webhook_secret = new SecretBox(keysOf(first)).seal(JSON.stringify(REASONING), 'responses')
  const flipped = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`
  for (const other of [
    '',
    'svc1.',
    'svc1.x.',
    'gAAAAABo',
    `svc1.${randomBytes(90).toString('base64url')}`,
    sealed.replace('svc1.', 'v1.'),
    sealed.replace('svc1.', 'svc2.'),
    `svc1.${webhook_secret.slice(3)}`,
    flipped,
  ]) {
    assert.equal(seal.open(other), undefined, other)
  }
})
