import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import {
  assertHarmless,
  attributes,
  HOSTILE,
  poisonRow,
  unescape,
} from '../../../test/support/markup.ts'
import { BASE_URL, errorRows, sampleDocument } from '../../../test/support/sample-document.ts'
import { renderErrors } from '../errors-page.ts'
import { html, renderPage } from '../html.ts'
import { pageStyle } from '../page-style.ts'
import { curlExample } from './curl.ts'
import { groupEndpoints, type Schema } from './document.ts'
import { isOpenApiDocument, type OpenApiDocument, renderReference } from './page.ts'

const page = renderReference(sampleDocument, { base_url: BASE_URL, errors: errorRows })

void test('a summary of <script> stays text', () => {
  const document = { ...sampleDocument, paths: { '/a': { get: { summary: '<script>' } } } }
  const markup = renderReference(document, { base_url: BASE_URL })
  assert.match(markup, /&lt;script&gt;/)
  assert.doesNotMatch(markup, /<script/i)
})

void test('hostile text in any place of the document stays text', () => {
  const poisoned: unknown = poison(sampleDocument)
  assert.ok(isOpenApiDocument(poisoned))
  const markup = renderReference(poisoned, { base_url: BASE_URL, errors: errorRows.map(poisonRow) })
  assert.ok(markup.includes('&lt;script&gt;'))
  assertHarmless(markup)
})

void test('a link runs no script, whatever the spelling', () => {
  const description = '[a](javascript:alert(1)) [b](JaVaScRiPt:alert) [c](//evil.test) [d](data:,x)'
  const document = { ...sampleDocument, info: { ...sampleDocument.info, description } }
  for (const address of attributes(renderReference(document, { base_url: BASE_URL }), 'href')) {
    assert.match(address, /^(?:#|\/(?!\/)|data:image\/svg)/)
  }
})

void test('the pages load nothing from outside and link only where the document links', () => {
  for (const markup of [page, renderErrors(errorRows), renderPage({ title: 'a', body: html`b` })]) {
    assert.doesNotMatch(markup, /<(?:script|iframe|object|embed|style|base)\b/i)
    assert.deepEqual(attributes(markup, 'src'), [])
    assert.deepEqual(attributes(markup, 'style'), [])
    const outside = attributes(markup, 'href').filter((address) => !/^[#/]|^data:/.test(address))
    const declared = outside.filter((address) => address.startsWith('https://www.rfc-editor.org/'))
    assert.deepEqual(outside, declared)
  }
  assert.doesNotMatch(pageStyle, /@import|url\(|https?:/)
})

void test('every operation has its operationId as anchor, once, and a link to it', () => {
  const ids = Object.values(sampleDocument.paths ?? {}).flatMap((item) =>
    [item.get, item.post, item.delete].flatMap((operation) => operation?.operationId ?? []),
  )
  assert.equal(ids.length, 11)
  for (const id of ids) {
    assert.equal(page.split(`<section class="operation" id="${id}"`).length, 2)
    assert.ok(page.includes(`href="#${id}"`))
  }
})

void test('no id stands twice and no link within a page is dead', () => {
  for (const markup of [page, renderErrors(errorRows)]) {
    const ids = attributes(markup, 'id')
    assert.equal(new Set(ids).size, ids.length)
    const targets = attributes(markup, 'href').filter((address) => address.startsWith('#'))
    assert.deepEqual(
      targets.filter((target) => !ids.includes(target.slice(1))),
      [],
    )
  }
})

void test('every reference is resolved, and the fields behind it are listed', () => {
  assert.doesNotMatch(page, /#\/components|\$ref/)
  for (const path of ['user.balance', 'data[].billing_mode', 'messages[].content[].text']) {
    assert.ok(fieldNames(page).includes(path), path)
  }
  assert.ok(page.includes('Requests allowed in a minute.'), 'a header')
  assert.ok(page.includes('not its secret.'), 'a parameter of the path')
  assert.ok(page.includes('There is no valid session.'), 'a response')
  assert.ok(page.includes('Afterwards.'), 'a description beside the reference')
})

void test('a schema that contains itself ends', () => {
  const fields = fieldNames(page)
  assert.ok(fields.includes('response_format.json_schema.items'))
  assert.ok(!fields.includes('response_format.json_schema.items.items'))
  assert.ok(!fields.includes('response_format.json_schema.not.not'))
})

void test('references that only lead to each other end', () => {
  const markup = renderReference(
    withSchemas({ A: { $ref: '#/components/schemas/B' }, B: { $ref: '#/components/schemas/A' } }),
    { base_url: BASE_URL },
  )
  assert.ok(markup.includes('id="probe"'))
})

void test('a wide schema that contains itself in every field stays bounded', () => {
  const self = { $ref: '#/components/schemas/A' }
  const properties = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      `field_${index}`,
      {
        anyOf: [{ type: 'object', properties: { deeper: self, again: self } }, { type: 'string' }],
      },
    ]),
  )
  const markup = renderReference(withSchemas({ A: { type: 'object', properties } }), {
    base_url: BASE_URL,
  })
  assert.ok(markup.length < 1_000_000)
})

void test('constraints are said in words', () => {
  for (const text of ['8 to 200 characters', 'at least 1 item', 'each at most 40 characters']) {
    assert.ok(page.includes(text), text)
  }
  assert.ok(page.includes('One of <code>developer</code> <code>user</code>'))
  assert.ok(page.includes('Default <code>50</code>'))
})

void test('an example command reaches the shell as one address, its headers and valid JSON', () => {
  const words = shellWords('createKey')
  assert.equal(words[0], `${BASE_URL}/developers/keys`)
  assert.ok(words.includes('Authorization: Bearer <SVC_SESSION>'))
  const body = words[words.indexOf('-d') + 1] ?? ''
  assert.deepEqual(JSON.parse(body), { name: "Ada's laptop", billing_mode: 'developer' })
})

void test('an example command shows path variables, queries, needed headers and forms', () => {
  assert.equal(shellWords('deleteKey')[0], `${BASE_URL}/developers/keys/<ID>`)
  assert.equal(shellWords('listKeys')[0], `${BASE_URL}/developers/keys?limit=20`)
  assert.ok(shellWords('fundUser').includes('Idempotency-Key: order-1042'))
  assert.ok(shellWords('exchangeToken').includes('grant_type=authorization_code'))
  assert.deepEqual(shellWords('readHealth'), [`${BASE_URL}/health`])
})

void test('a field with a default is not called required, and need not be sent', () => {
  const section = page.slice(page.indexOf('id="listKeys"')).split('</section>')[0] ?? ''
  assert.match(section, /<code>limit<\/code><\/th>/)
  assert.doesNotMatch(section, />required</)
})

void test('every error code of an operation links to its page and has its own example', () => {
  assert.ok(page.includes('href="/docs/errors#weak_password"'))
  assert.ok(page.includes('href="/docs/errors#unauthorized"'))
  assert.ok(unescape(page).includes(`${BASE_URL}/docs/errors#unauthorized`))
})

void test('an example of an error is the body that the service really sends', () => {
  const errorBody = (code: string, dialect: string) => ({ sent: `${dialect} ${code}` })
  const markup = renderReference(sampleDocument, { base_url: BASE_URL, errorBody })
  assert.ok(markup.includes('openai unauthorized'))
  assert.ok(markup.includes('oauth invalid_grant'))
  assert.ok(renderErrors(errorRows, { errorBody }).includes('openai not_found'))
})

function fieldNames(markup: string): readonly string[] {
  return [...markup.matchAll(/<th scope="row"><code>(.*?)<\/code>/g)].map((match) =>
    (match[1] ?? '').replace(/<[^>]*>/g, ''),
  )
}

function poison(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return ['$ref', 'in', 'type'].includes(key) ? value : HOSTILE
  if (Array.isArray(value)) return value.map((entry) => poison(entry, key))
  if (typeof value !== 'object' || value === null) return value
  const poisonsKeys = ['properties', 'headers', 'content', 'paths'].includes(key)
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      poisonsKeys ? name + HOSTILE : name,
      poison(entry, name),
    ]),
  )
}

function withSchemas(schemas: Record<string, Schema>): OpenApiDocument {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/A' } } }
  const probe = { operationId: 'probe', requestBody: { content }, responses: { 200: { content } } }
  return { ...sampleDocument, paths: { '/probe': { post: probe } }, components: { schemas } }
}

/** The arguments that curl would get, with `$NAME` filled in as `<NAME>`. */
function shellWords(anchor: string): readonly string[] {
  const endpoints = groupEndpoints(sampleDocument).flatMap((group) => group.endpoints)
  const endpoint = endpoints.find((found) => found.anchor === anchor)
  assert.ok(endpoint)
  const command = curlExample(sampleDocument, endpoint, BASE_URL)
  const names = [...command.matchAll(/\$([A-Z_]+)/g)].map((match) => match[1] ?? '')
  const shell = spawnSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`], {
    encoding: 'utf8',
    env: Object.fromEntries(names.map((name) => [name, `<${name}>`])),
  })
  assert.equal(shell.stderr, '')
  return shell.stdout.split('\0').slice(0, -1)
}
