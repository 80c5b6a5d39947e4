import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  DIRECTIVES,
  directiveNumber,
  findUnknownDirective,
  parseDirectives,
  readDirectives,
  removeDirectives,
} from './directives.ts'

test('test prompts are found anywhere in a message, with and without a value', () => {
  const found = parseDirectives('Please [[sandbox:tokens=500]] and [[sandbox:crlf]], thank you.')
  assert.deepEqual(found, { tokens: '500', crlf: '' })
  assert.equal(removeDirectives('Hello [[sandbox:tokens=500]]'), 'Hello')
})

test('the value of a test prompt may be JSON with lists', () => {
  const found = parseDirectives(
    '[[sandbox:arguments={"command":["ls","-l"]}]] and [[sandbox:crlf]]',
  )
  assert.deepEqual(found, { arguments: '{"command":["ls","-l"]}', crlf: '' })
})

test('a misspelt test prompt is reported', () => {
  const asked = 'Hi [[sandbox:tiemout]]'
  assert.equal(findUnknownDirective({ asked, results: [], results_follow: false }), 'tiemout')
})

test('a tool that was called is not called again, unless its result asks for it', () => {
  const asked = 'Do it [[sandbox:tool]] [[sandbox:crlf]]'
  const plain = { asked, results: ['done'], results_follow: true }
  assert.deepEqual(readDirectives(plain), { crlf: '' })
  const again = { ...plain, results: ['once more [[sandbox:tool=2]]'] }
  assert.deepEqual(readDirectives(again), { crlf: '', tool: '2' })
  assert.deepEqual(readDirectives({ ...plain, results_follow: false }), { crlf: '', tool: '' })
})

test('values that are no numbers count as absent and large ones are capped', () => {
  assert.equal(directiveNumber('12', 100), 12)
  assert.equal(directiveNumber('1e9', 100), undefined)
  assert.equal(directiveNumber('-1', 100), undefined)
  assert.equal(directiveNumber('5000', 100), 100)
  assert.equal(directiveNumber('', 100), undefined)
})

test('the documentation lists exactly the test prompts that exist', () => {
  const page = readFileSync(new URL('../docs/sandbox.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| `\[\[sandbox:([a-z0-9_]+)/gm)
  const listed = new Set([...rows].map(([, name]) => name))
  assert.deepEqual(listed, new Set<string | undefined>(DIRECTIVES))
})
