// Every statement of the specification has a test, and every name it uses is in the code.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { EVENT_TYPES } from '../../src/events/event-types.ts'
import { ERRORS } from '../../src/platform/errors.ts'
import { CODES, ENDPOINTS, EVENTS, HEADERS } from './spec/names.ts'
import { describeCoverage, STATEMENTS } from './spec.ts'

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
  return titlesIn(sourceOf(file))
}

function titlesIn(source: string): Set<string> {
  const calls = source.matchAll(/\b(?:test|it|describe)\(\s*(['`"])((?:\\.|(?!\1).)*)\1/gs)
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
  assert.equal(readTitle(['$', '{a}: it’s $', '{b ? `, $', '{c}` : 1}'].join('')), '…: it’s …')
})

test('docs/spec-coverage.md says the same; npm run generate writes it', () => {
  assert.ok(readFileSync('docs/spec-coverage.md', 'utf8') === describeCoverage())
})

type Schema = {
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}
type Content = Record<string, { schema?: Schema }>
type Operation = {
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content; 'x-error-codes'?: string[] }>
}

const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
}

function operationOf(endpoint: string): Operation {
  const [method = '', path = ''] = endpoint.split(' ')
  return paths[path]?.[method.toLowerCase()] ?? assert.fail(`${endpoint} is not documented`)
}

/** Whether a dotted name leads to a field; what a list holds is looked into. */
function hasField(schema: Schema | undefined, name: string): boolean {
  if (schema === undefined) return false
  if (schema.items) return hasField(schema.items, name)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return choices.some((choice) => hasField(choice, name))
  const [first = '', ...rest] = name.split('.')
  const field = schema.properties?.[first]
  return rest.length === 0 ? field !== undefined : hasField(field, rest.join('.'))
}

test('every endpoint of the specification is in the OpenAPI document, under the path it names', () => {
  for (const endpoint of Object.keys(ENDPOINTS)) {
    operationOf(endpoint)
    const written = `${endpoint.replaceAll(/\{(\w+)\}/g, ':$1')}:`
    assert.ok(
      STATEMENTS.some(({ what }) => what.startsWith(written)),
      `no statement about ${written}`,
    )
  }
})

test('every endpoint has the fields, the status and the codes that the specification names', () => {
  for (const [endpoint, wanted] of Object.entries(ENDPOINTS)) {
    const { status, request = [], query = [], reply = [], codes = [] } = wanted
    const { parameters = [], requestBody, responses } = operationOf(endpoint)
    assert.ok(responses[status], `${endpoint} ${status}`)
    const sent = Object.values(requestBody?.content ?? {})[0]?.schema
    for (const name of request) assert.ok(hasField(sent, name), `${endpoint} takes ${name}`)
    for (const name of query) {
      const found = parameters.some((parameter) => parameter.name === name)
      assert.ok(found, `${endpoint} takes ?${name}`)
    }
    const body = responses[status]?.content?.['application/json']?.schema
    for (const name of reply) assert.ok(hasField(body, name), `${endpoint} answers with ${name}`)
    const listed = Object.values(responses).flatMap((one) => one['x-error-codes'] ?? [])
    for (const code of codes) assert.ok(listed.includes(code), `${endpoint} may answer ${code}`)
  }
})

const SENDS = /\b(?:request|post|postForm|postToken|chat|ask|fetch|inject)\(/

/** The test with the group around it, and the head of the file: tables of cases and helpers are there. */
function blockOf(file: string, name: string): string {
  const text = sourceOf(file)
  const title = name.split(' › ').at(-1) ?? name
  const groups = text.split(/^(?=(?:test|it|describe)\()/m)
  const at = groups.findIndex((group) => titlesIn(group).has(title))
  return `${groups[0] ?? ''}${groups[at] ?? ''}`
}

test('every code of the specification has its status, and a test that gets it over HTTP', () => {
  const table = new Map(Object.entries(ERRORS))
  for (const [code, status] of Object.entries(CODES)) {
    assert.equal(table.get(code)?.status, status, code)
    const statement = STATEMENTS.find(({ what }) => what.startsWith(`\`${code}\` ${status}`))
    assert.ok(statement, `no statement about ${code}`)
    const shown = statement.tests.filter(({ file, name }) => {
      const block = blockOf(file, name)
      return block.includes(code) && SENDS.test(sourceOf(file))
    })
    assert.notEqual(shown.length, 0, `no test of ${code} names it`)
  }
})

test('every event and every header of the specification has a statement', () => {
  const fields = Object.entries(EVENT_TYPES).map(([type, { data }]) => [
    type,
    Object.keys(data.properties),
  ])
  assert.deepEqual(Object.fromEntries(fields), EVENTS)
  for (const name of [...Object.keys(EVENTS), ...HEADERS]) {
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
