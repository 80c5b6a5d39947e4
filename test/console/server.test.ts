// How the console is served: from memory, under its policy, to those who are signed in.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { readConsoleFiles } from '../../src/http/console-files.ts'
import { readReturnPath } from '../../src/http/return-path.ts'
import { createApp } from '../support/app.ts'
import { Visitor } from '../support/oauth.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; media-src blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const service = await createApp()
const person = await service.register()
const cookie = `svc_session=${person.token}`
const get = (url: string, headers: Record<string, string> = {}) => service.request({ url, headers })
const [script = ''] =
  /assets\/index-[\w-]+\.js/.exec((await get('/console/', { cookie })).body) ?? []

test('the page of the console has the strict policy and is never kept', async () => {
  for (const url of ['/console/', '/console/keys?create=true', '/console/no/such/page']) {
    const { statusCode, headers, body } = await get(url, { cookie })
    assert.equal(statusCode, 200, url)
    assert.equal(headers['content-security-policy'], POLICY)
    assert.equal(headers['cache-control'], 'private, no-cache')
    assert.equal(headers['referrer-policy'], 'same-origin')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(String(headers['permissions-policy']), /camera=\(\)/)
    assert.doesNotMatch(body, /<script(?![^>]* src=)|<style| style=| on\w+=/)
  }
})

test('the chosen theme stands in the page; anything else in the cookie is the system’s theme', async () => {
  const read = async (theme: string) =>
    (await get('/console/', { cookie: `${cookie}; svc_theme=${theme}` })).body.match(
      /<html[^>]*>/,
    )?.[0]
  const rest = 'data-mode="sandbox" data-base-url="http://localhost:8080">'
  assert.equal(await read('dark'), `<html lang="en" data-theme="dark" ${rest}`)
  assert.equal(await read('"><script>'), `<html lang="en" ${rest}`)
})

test('files are kept for ever and come compressed as the browser takes them', async () => {
  const plain = await get(`/console/${script}`)
  assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.match(String(plain.headers['content-type']), /^text\/javascript/)
  for (const [accepted, coding, unpack] of [
    ['gzip, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
  ] as const) {
    const packed = await get(`/console/${script}`, { 'accept-encoding': accepted })
    assert.equal(packed.headers['content-encoding'], coding)
    assert.equal(unpack(packed.rawPayload).toString(), plain.body)
  }
})

test('no address reaches a file that was not built', async () => {
  for (const name of [
    'nothing.js',
    '..%2fsources.sha256',
    '..%2f..%2f..%2fpackage.json',
    '%2e%2e%2findex.html',
    `${script.slice('assets/'.length)}.br`,
  ]) {
    const reply = await get(`/console/assets/${name}`, { cookie })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'not_found'], name)
  }
  for (const url of ['/console/../package.json', '/console/%2e%2e/package.json']) {
    assert.doesNotMatch((await get(url, { cookie })).body, /devDependencies/)
  }
})

test('a folder without a build has no files', () => {
  assert.equal(readConsoleFiles('/nowhere'), undefined)
})

test('who is not signed in comes back to the page after signing in, also by registering', async () => {
  const reply = await get('/console/usage?period=7d')
  assert.equal(reply.statusCode, 302)
  const login = String(reply.headers.location)
  assert.equal(login, '/oauth/login?return_to=%2Fconsole%2Fusage%3Fperiod%3D7d')
  const visitor = new Visitor(service)
  const entered = await visitor.fill(login, {
    email: person.email,
    password: 'correct horse battery',
  })
  assert.equal(entered.headers.location, '/console/usage?period=7d')
  const newcomer = await new Visitor(service).fill(login.replace('login', 'register'), {
    email: 'newcomer@example.com',
    password: 'correct horse battery',
  })
  assert.equal(newcomer.headers.location, '/console/usage?period=7d')
  // A bearer token is a program's.
  assert.equal((await get('/console/', person.bearer)).statusCode, 302)
})

test('signing in leads to pages of the console and of devices only', () => {
  for (const path of [
    '/console/',
    '/console/keys?create=true',
    '/console/apps/1',
    '/device',
    '/device?user_code=BCDF-GHJK',
  ]) {
    assert.equal(readReturnPath(path), path)
  }
  for (const path of [
    null,
    '',
    '/',
    '/consoles/',
    '/devices',
    '/device/decision',
    '/device/../oauth/logout',
    '/oauth/logout',
    '//evil.example/console/',
    'https://evil.example/console/',
    '/console/../oauth/authorize?client_id=x',
    '/console/%2e%2e/account',
    `/console/${'x'.repeat(2_000)}`,
    '\\\\evil.example/console/',
  ]) {
    assert.equal(readReturnPath(path), undefined, String(path))
  }
  // Read as a browser reads it: still a path of ours.
  assert.equal(readReturnPath('/console/\\evil.example'), '/console//evil.example')
})

test('the start page leads people to the console and programs to the reference', async () => {
  assert.equal((await get('/', { accept: 'text/html' })).headers.location, '/console/')
  assert.equal((await get('/', { accept: '*/*' })).headers.location, '/docs')
  assert.equal((await get('/console')).headers.location, '/console/')
})

test('the pages without script each lead to the page of the console that does the same', async () => {
  for (const [page, same] of [
    ['/oauth/connections', '/console/wallet'],
    ['/oauth/sessions', '/console/account/sessions'],
    ['/oauth/events', '/console/account/security-log'],
    ['/oauth/security', '/console/account/second-factor'],
  ] as const) {
    const { statusCode, body } = await get(page, { cookie })
    assert.equal(statusCode, 200, page)
    assert.ok(body.includes(`<a href="${same}">`), page)
    assert.doesNotMatch(body, /<script/)
  }
})
