// Every statement of the specification has a test, and every name it uses is in the code.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { EVENT_TYPE_NAMES } from '../../src/events/event-types.ts'
import { ERRORS } from '../../src/platform/errors.ts'
import { CODES, describeCoverage, ENDPOINTS, EVENTS, HEADERS, STATEMENTS } from './spec.ts'

const sources = new Map<string, string>()

function sourceOf(file: string): string {
  const known = sources.get(file)
  if (known !== undefined) return known
  assert.ok(existsSync(file), `${file} does not exist`)
  const text = readFileSync(file, 'utf8')
  sources.set(file, text)
  return text
}

/** As they stand in the source, with `…` for what a template fills in. */
function titlesOf(file: string): Set<string> {
  const calls = sourceOf(file).matchAll(/\b(?:test|it|describe)\(\s*(['`"])((?:\\.|(?!\1).)*)\1/gs)
  return new Set([...calls].map(([, , title = '']) => readTitle(title)))
}

function readTitle(title: string): string {
  // A template may hold a template: the outermost braces count.
  let text = ''
  let depth = 0
  for (let at = 0; at < title.length; at++) {
    if (title.startsWith('${', at)) {
      if (depth === 0) text += '…'
      depth++
      at++
    } else if (depth > 0) {
      if (title[at] === '}') depth--
    } else text += title[at]
  }
  return text.replaceAll(/\\(.)/g, '$1')
}

test('every statement names tests that exist', () => {
  const missing = STATEMENTS.flatMap(({ id, what, tests }) => {
    assert.notEqual(tests.length, 0, `${id} ${what} has no test`)
    return tests
      .filter(({ file, name }) => !name.split(' › ').every((part) => titlesOf(file).has(part)))
      .map(({ file, name }) => `${id}: ${file} has no “${name}”`)
  })
  assert.deepEqual(missing, [])
})

test('a title that is not there is noticed, and what a template fills in is left out', () => {
  assert.ok(
    titlesOf('test/contract/coverage.test.ts').has('every statement names tests that exist'),
  )
  assert.equal(titlesOf('test/contract/coverage.test.ts').has('every statement'), false)
  // biome-ignore lint: what stands in a source
  assert.equal(readTitle(['$', '{a}: it’s $', '{b ? `, $', '{c}` : 1}'].join('')), '…: it’s …')
})

test('docs/spec-coverage.md says the same; npm run generate writes it', () => {
  assert.ok(readFileSync('docs/spec-coverage.md', 'utf8') === describeCoverage())
})

test('every endpoint of the specification is in the OpenAPI document, under the path it names', () => {
  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
    paths: Record<string, Record<string, object>>
  }
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  for (const endpoint of ENDPOINTS) {
    assert.ok(documented.includes(endpoint), endpoint)
    const [method, path = ''] = endpoint.split(' ')
    const written = `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}:`
    assert.ok(
      STATEMENTS.some(({ what }) => what.startsWith(written)),
      `no statement about ${written}`,
    )
  }
})

test('every code of the specification has its status, and a test that gets it over HTTP', () => {
  const table = new Map(Object.entries(ERRORS))
  for (const [code, status] of Object.entries(CODES)) {
    assert.equal(table.get(code)?.status, status, code)
    const statement = STATEMENTS.find(({ what }) => what.startsWith(`\`${code}\` ${status}`))
    assert.ok(statement, `no statement about ${code}`)
    for (const { file } of statement.tests) {
      const text = sourceOf(file)
      assert.match(text, /\b(?:request|post|postForm|postToken|chat|ask|fetch|inject|send)\(/, file)
    }
    assert.ok(
      statement.tests.some(({ file }) => new RegExp(`\\b${code}\\b`).test(sourceOf(file))),
      `no test of ${code} names it`,
    )
  }
})

test('every event and every header of the specification has a statement', () => {
  assert.deepEqual([...EVENTS].sort(), [...EVENT_TYPE_NAMES].sort())
  for (const name of [...EVENTS, ...HEADERS]) {
    const about = STATEMENTS.filter(({ what }) => what.includes(`\`${name}\``))
    assert.notEqual(about.length, 0, name)
    assert.ok(
      about.some(({ tests }) =>
        tests.some(({ file }) => sourceOf(file).toLowerCase().includes(name.toLowerCase())),
      ),
      `no test about ${name} names it`,
    )
  }
})
