// The browser module as a file: how it is served, and that its hash is the same wherever it stands.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readSdkFiles } from '../../src/http/sdk-files.ts'
import { createListeningApp } from '../support/listening-app.ts'

const SIZE_MAX_BYTES = 4_096

const service = await createListeningApp()
const get = (url: string, headers: Record<string, string> = {}) => service.request({ url, headers })
const versions = readdirSync('sdk').filter((name) => /^svc-[\d.]+\.js$/.test(name))

function hash(content: string | Buffer): string {
  return `sha384-${createHash('sha384').update(content).digest('base64')}`
}

test('the hash of the newest version is the same in the documentation, the manifest and the file', async () => {
  const manifest = (await get('/sdk/manifest.json')).json()
  assert.deepEqual(Object.keys(manifest.integrity).sort(), versions.sort())
  for (const name of versions) {
    const { body } = await get(`/sdk/${name}`)
    assert.equal(body, readFileSync(`sdk/${name}`, 'utf8'))
    assert.equal(manifest.integrity[name], hash(body))
  }
  const newest = await get('/sdk/svc.js')
  const page = readFileSync('docs/browser-apps.md', 'utf8')
  const named = [...page.matchAll(/sha384-[A-Za-z0-9+/=]*/g)].map(([found]) => found)
  assert.deepEqual(named, [hash(newest.body), hash(newest.body)], 'both snippets')
  assert.equal(manifest.integrity[manifest.latest], hash(newest.body))
  assert.ok(page.includes(`/sdk/${manifest.latest}`))
})

test('the module is at most 4 kB compressed', async () => {
  const { body } = await get('/sdk/svc.js')
  const size = gzipSync(body, { level: 9 }).length
  assert.ok(size <= SIZE_MAX_BYTES, `${size} bytes`)
})

test('a page of any site may load it, and keeps a version for ever', async () => {
  for (const name of [...versions, 'svc.js', 'manifest.json']) {
    const reply = await get(`/sdk/${name}`, { origin: 'https://app.example' })
    assert.equal(reply.statusCode, 200)
    assert.equal(reply.headers['access-control-allow-origin'], '*')
    const is_version = versions.includes(name)
    const kept = is_version ? 'public, max-age=31536000, immutable' : 'public, max-age=600'
    assert.equal(reply.headers['cache-control'], kept)
    const type = name.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'application/json'
    assert.equal(String(reply.headers['content-type']).split('; charset')[0], type.split('; ')[0])
    assert.equal(reply.headers['x-content-type-options'], 'nosniff')
  }
})

test('compressed or not, the bytes are the same', async () => {
  for (const encoding of ['gzip', 'br']) {
    const reply = await fetch(`${service.address}/sdk/svc.js`, {
      headers: { 'accept-encoding': encoding },
    })
    assert.equal(reply.headers.get('content-encoding'), encoding)
    assert.equal(hash(await reply.text()), hash((await get('/sdk/svc.js')).body))
  }
})

test('what is no version is not found, whatever the address tries', async () => {
  for (const name of [
    'svc-9.9.9.js',
    '..%2Fpackage.json',
    '%2e%2e/package.json',
    'src',
    'main.ts',
  ]) {
    assert.equal((await get(`/sdk/${name}`)).statusCode, 404, name)
  }
})

test('the newest version is the one with the highest number, and older ones stay', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-sdk-'))
  for (const version of ['1.10.0', '1.9.2', '0.1.0']) {
    writeFileSync(path.join(folder, `svc-${version}.js`), `export const version = '${version}'`)
  }
  writeFileSync(path.join(folder, 'svc-latest.js'), 'not a version')
  const files = readSdkFiles(folder)
  rmSync(folder, { recursive: true })
  assert.match(String(files.get('svc.js')?.plain), /1\.10\.0/)
  assert.deepEqual([...files.keys()].sort(), [
    'manifest.json',
    'svc-0.1.0.js',
    'svc-1.10.0.js',
    'svc-1.9.2.js',
    'svc.js',
  ])
})
