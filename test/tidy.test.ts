// Style that is not a test fades. Reads the tree as text; needs no database.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { generatedFiles } from '../scripts/generated-files.ts'
import { ERROR_CODES } from '../src/platform/errors.ts'

const DOMAINS = [
  'accounts',
  'keys',
  'wallet',
  'funding',
  'access',
  'gateway',
  'oauth',
  'webhooks',
  'payouts',
  'topups',
  'operators',
  'usage',
  'catalog',
]
const BANNED_NAMES = /(^|[/-])(utils?|helpers?|common|misc|manager|v2)(\.|-|\/)/i

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(file))
const sources = tracked.filter((file) => file.startsWith('src/') && file.endsWith('.ts'))
const read = (file: string) => readFileSync(file, 'utf8')

test('generated files are what the code says; npm run generate writes them', async () => {
  for (const [file, content] of Object.entries(await generatedFiles())) {
    assert.ok(read(file) === content, `${file} is out of date: npm run generate writes it`)
  }
})

test('no file is named for what it is not', () => {
  assert.deepEqual(
    tracked.filter((file) => BANNED_NAMES.test(file)),
    [],
  )
})

test('SQL of a domain stands in its store.ts', () => {
  const elsewhere = sources.filter(
    (file) =>
      DOMAINS.some((domain) => file.startsWith(`src/${domain}/`)) &&
      !/(store|\.test)\.ts$/.test(file) &&
      /\bstatement(<|\()/.test(read(file)),
  )
  assert.deepEqual(elsewhere, [])
})

test('only config.ts and entry points read the environment', () => {
  const readers = sources.filter(
    (file) =>
      !file.startsWith('src/bin/') &&
      !file.endsWith('.test.ts') &&
      read(file).includes('process.env'),
  )
  assert.deepEqual(readers, [])
})

test('every source file opens with a comment that says what it owns', () => {
  const silent = sources.filter(
    (file) => !file.endsWith('.test.ts') && !read(file).startsWith('//'),
  )
  assert.deepEqual(silent, [])
})

test('every migration has a header that says why, and numbers without gap', () => {
  const files = readdirSync('migrations').sort()
  files.forEach((file, index) => {
    assert.ok(file.startsWith(String(index + 1).padStart(4, '0')), file)
    assert.ok(read(path.join('migrations', file)).startsWith('--'), file)
  })
})

test('no lint rule is switched off inline without a reason', () => {
  const bare = tracked
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .filter(
      (file) =>
        /(oxlint|eslint)-disable[^\n]*$/m.test(read(file)) && !/-disable.* -- /.test(read(file)),
    )
  assert.deepEqual(
    bare.filter((file) => file !== 'test/tidy.test.ts'),
    [],
  )
})

test('a TODO names its issue', () => {
  const loose = tracked
    .filter((file) => /\.(ts|sql|md)$/.test(file) && file !== 'test/tidy.test.ts')
    .filter((file) => /\bTODO\b(?! #\d)/.test(read(file)) && !file.endsWith('CONTRIBUTING.md'))
  assert.deepEqual(loose, [])
})

test('every error code is explained in docs/errors.md and used or reserved by the specification', () => {
  const page = read('docs/errors.md')
  for (const code of ERROR_CODES) assert.match(page, new RegExp(`^## ${code}$`, 'm'))
})

test('no test is skipped or left alone', () => {
  const marked = tracked
    .filter((file) => file.endsWith('.test.ts') && file !== 'test/tidy.test.ts')
    .filter((file) => /\b(test|it|describe)\.(skip|only|todo)\b/.test(read(file)))
  assert.deepEqual(marked, [])
})

test('the lock file names no registry', () => {
  assert.doesNotMatch(read('package-lock.json'), /"resolved": "http/)
})

test('links between documents lead to files', () => {
  for (const file of tracked.filter((name) => name.endsWith('.md'))) {
    for (const [, target = ''] of read(file).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      if (target.startsWith('/')) continue
      assert.ok(existsSync(path.join(path.dirname(file), target)), `${file} links to ${target}`)
    }
  }
})

test('every attack of docs/security.md has a test that exists, and none is missing', () => {
  const rows = [...read('docs/security.md').matchAll(/^\| ([ADFKLOSTW]\d+) \|.*$/gm)]
  const numbers = (letter: string, last: number, merged: number[]) =>
    Array.from({ length: last }, (_, index) => index + 1)
      .filter((number) => !merged.includes(number))
      .map((number) => `${letter}${number}`)
  assert.deepEqual(
    rows.map(([, id]) => id),
    [
      ...numbers('A', 16, [11]),
      ...numbers('K', 20, [6, 7]),
      ...numbers('S', 2, []),
      ...numbers('L', 12, []),
      ...numbers('O', 37, [8, 9, 13, 24, 26]),
      ...numbers('D', 7, []),
      ...numbers('W', 21, [5, 6, 12]),
      ...numbers('T', 8, []),
      ...numbers('F', 14, []),
    ],
  )
  for (const [row] of rows) {
    const tests = [...row.matchAll(/`([\w/.-]+\.test\.ts)` “([^”]+)”/g)]
    assert.notEqual(tests.length, 0, row)
    for (const [, file = '', name = ''] of tests) {
      assert.ok(existsSync(file) && read(file).includes(name), `${file} has no “${name}”`)
    }
  }
})
