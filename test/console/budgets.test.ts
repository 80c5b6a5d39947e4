// What a visit costs, read from the manifest of the build; and the types of the API, which are those of its document.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ROUTES } from '../../console/src/routes.ts'
import { buildConsole } from '../../scripts/build-console.ts'
import { headLine } from '../../scripts/console-types.ts'

const KB = 1024
const LIMITS = { shell: 95, page: 130, everything: 230, style: 14, requests: 20 }
/** The page itself, the account, and the most that a page asks for beside it. */
const OTHER_REQUESTS = 6

type Chunk = { file: string; imports?: string[]; css?: string[]; isEntry?: boolean }

await buildConsole()
const manifest = new Map<string, Chunk>(
  Object.entries(JSON.parse(readFileSync('console/dist/.vite/manifest.json', 'utf8'))),
)
const sizeOf = (file: string) => gzipSync(readFileSync(`console/dist/${file}`), { level: 9 }).length
const total = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + sizeOf(file), 0)

/** The chunk and what it imports, as files of one kind. */
function filesOf(name: string, kind: 'js' | 'css', seen = new Set<string>()): Set<string> {
  const chunk = manifest.get(name)
  assert.ok(chunk, `${name} was not built`)
  const own = kind === 'js' ? [chunk.file] : (chunk.css ?? [])
  if (own.every((file) => seen.has(file)) && own.length > 0) return seen
  for (const file of own) seen.add(file)
  for (const imported of chunk.imports ?? []) filesOf(imported, kind, seen)
  return seen
}

test('the shell, the first load of any page and all pages together stay within their sizes', () => {
  const shell = filesOf('index.html', 'js')
  assert.ok(total(shell) <= LIMITS.shell * KB, `the shell has ${total(shell)} bytes`)
  for (const { page } of ROUTES) {
    const scripts = filesOf(`src/${page}/page.tsx`, 'js', new Set(shell))
    const styles = filesOf(`src/${page}/page.tsx`, 'css', filesOf('index.html', 'css'))
    assert.ok(total(scripts) <= LIMITS.page * KB, `${page} has ${total(scripts)} bytes of script`)
    assert.ok(total(styles) <= LIMITS.style * KB, `${page} has ${total(styles)} bytes of style`)
    const requests = scripts.size + styles.size + OTHER_REQUESTS
    assert.ok(requests <= LIMITS.requests, `${page} makes ${requests} requests`)
  }
  const everything = new Set([...manifest.values()].map((chunk) => chunk.file))
  const scripts = [...everything].filter((file) => file.endsWith('.js'))
  assert.ok(total(scripts) <= LIMITS.everything * KB, `all pages have ${total(scripts)} bytes`)
})

test('the console loads no font and no picture', () => {
  const files = [...manifest.values()].map((chunk) => chunk.file)
  assert.deepEqual(
    files.filter((file) => !/\.(js|css)$/.test(file)),
    [],
  )
})

test('the types of the API are those of docs/openapi.json; npm run console:types writes them', () => {
  const [first] = readFileSync('console/src/api-types.ts', 'utf8').split('\n', 1)
  assert.equal(`${first}\n`, headLine())
})
