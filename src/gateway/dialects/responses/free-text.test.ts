import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../test/support/same-cases.ts'
import { FreeText } from './free-text.ts'

function readAll(pieces: readonly string[]) {
  const given = new FreeText()
  const deltas = pieces.map((piece) => given.read(piece))
  return { deltas: [...deltas, given.end()].filter((delta) => delta !== ''), text: given.text }
}

test('any text comes out as it went in, however its JSON is written and cut', () => {
  const hard = ['a', 'u', '0', '"', '\\', '\n', '\u2028', 'é', '😀', '\ud83d', '}']
  const texts = fc.string({ unit: fc.constantFrom(...hard), maxLength: 20 })
  fc.assert(
    fc.property(
      texts,
      fc.boolean(),
      fc.array(fc.nat(30), { maxLength: 6 }),
      (text, ascii, cuts) => {
        const plain = JSON.stringify({ input: text })
        const json = ascii ? plain.replaceAll(/[^\x20-\x7e]/g, toEscape) : plain
        const places = [0, ...cuts.toSorted((a, b) => a - b), json.length]
        const pieces = places.slice(1).map((end, at) => json.slice(places[at], end))
        const read = readAll(pieces)
        assert.equal(read.text, text)
        assert.equal(read.deltas.join(''), text)
        if (text.isWellFormed()) assert.ok(read.deltas.every((delta) => delta.isWellFormed()))
      },
    ),
  )
})

test('text is told while it arrives, and ends where it was cut off', () => {
  const pieces = ['{ "input"', ': "*** Be', 'gin\\', 'nPatch \\u00', 'e9 and']
  assert.deepEqual(readAll(pieces).deltas, ['*** Be', 'gin', '\nPatch ', 'é and'])
})

test('arguments in another form are given as they are', () => {
  assert.deepEqual(readAll(['{"code":', '"x"}']), {
    deltas: ['{"code":"x"}'],
    text: '{"code":"x"}',
  })
  assert.deepEqual(readAll(['plain']), { deltas: ['plain'], text: 'plain' })
  assert.deepEqual(readAll(['{"a":1,"input":"x"}']), { deltas: ['x'], text: 'x' })
  assert.equal(readAll(['{"input":"a\n', 'b\\x', 'c"}']).text, 'a\nb\\xc')
})

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
