import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { aliasesOf } from './aliases.ts'
import { loadCatalog } from './catalog.ts'
import { EMBEDDING_MODELS } from './embedding-models.ts'
import { AUDIO_MODELS, CHAT_MODELS } from './price-list.ts'

const MODELS = [...CHAT_MODELS, ...EMBEDDING_MODELS, ...AUDIO_MODELS]
const catalog = loadCatalog()
const directory = mkdtempSync(path.join(tmpdir(), 'svc-aliases-'))
after(() => rmSync(directory, { recursive: true, force: true }))

let files = 0

function load(models: object) {
  const file = path.join(directory, `catalog-${++files}.json`)
  writeFileSync(file, JSON.stringify({ models }))
  return loadCatalog({ file })
}

const meant = (name: string) => catalog.find(name)?.name

test('no name means two models', () => {
  const owners = new Map(MODELS.map(({ name }) => [name, name]))
  for (const model of MODELS) {
    for (const alias of aliasesOf(model)) {
      assert.equal(owners.get(alias), undefined, `${alias} of ${model.name}`)
      owners.set(alias, model.name)
    }
  }
})

test('the names that popular tools send are known', () => {
  const sent = {
    'anthropic/claude-sonnet-4': [
      'claude-sonnet-4-20250514',
      'claude-sonnet-4-0',
      'claude-sonnet-4',
      'anthropic/claude-sonnet-4-20250514',
    ],
    'anthropic/claude-opus-4': ['claude-opus-4-0', 'claude-opus-4-20250514'],
    'anthropic/claude-haiku-3.5': [
      'claude-3-5-haiku-20241022',
      'claude-3-5-haiku-latest',
      'anthropic/claude-3.5-haiku',
    ],
    'gpt-4o': ['gpt-4o-2024-08-06', 'openai/gpt-4o', 'openai/gpt-4o-2024-11-20'],
    'gpt-4o-mini': ['openai/gpt-4o-mini', 'gpt-4o-mini-2024-07-18'],
    'gpt-4-turbo': ['gpt-4-turbo-preview', 'gpt-4-1106-preview'],
    'gpt-3.5-turbo': ['gpt-3.5-turbo-0125', 'gpt-3.5-turbo-16k'],
    'google/gemini-2.5-flash': [
      'gemini-2.5-flash',
      'models/gemini-2.5-flash',
      'gemini/gemini-2.5-flash',
    ],
    'google/gemini-2.5-pro': ['gemini-2.5-pro', 'google/gemini-2.5-pro-preview-06-05'],
    'google/gemini-2.0-flash': ['google/gemini-2.0-flash-001', 'gemini-2.0-flash'],
    'text-embedding-3-small': ['openai/text-embedding-3-small'],
    'google/gemini-embedding-001': [
      'gemini-embedding-001',
      'models/gemini-embedding-001',
      'gemini/gemini-embedding-001',
    ],
    'elevenlabs/eleven_v3': ['eleven_v3'],
    'elevenlabs/scribe_v1': ['scribe_v1'],
  }
  for (const [name, aliases] of Object.entries(sent)) {
    for (const alias of aliases) assert.equal(meant(alias), name, alias)
  }
})

// Families that are other products: another medium, a longer window, a different model of the same generation.
const OTHER_PRODUCTS =
  /-(audio|search|realtime|transcribe|tts|32k|instruct|nano|pro|codex|chat-latest)\b/

test('every dated name of our models in the official clients’ own types is known', () => {
  const typesOf = (name: string, file: string) =>
    readFileSync(path.join(path.dirname(fileURLToPath(import.meta.resolve(name))), file), 'utf8')
  const types =
    typesOf('openai', 'resources/shared.d.ts') +
    typesOf('@anthropic-ai/sdk', 'resources/messages/messages.d.ts')
  const family =
    /'((?:gpt-4o|gpt-4|gpt-3\.5-turbo|gpt-5|claude-opus-4-(?:0|2)|claude-sonnet-4-(?:0|2)|claude-3-5-haiku)(?:(?:-|\d)[\w-]+)?)'/g
  const listed = [...types.matchAll(family)].map(([, name = '']) => name)
  const ours = listed.filter(
    (name) => !OTHER_PRODUCTS.test(name) && !/^gpt-4\.|^gpt-5\./.test(name),
  )
  assert.ok(ours.length > 20, `${ours.length} names`)
  assert.deepEqual(
    ours.filter((name) => meant(name) === undefined),
    [],
  )
})

test('a catalog file adds names to a model, and takes one over from the list', () => {
  const changed = load({
    'gpt-4o': { aliases: ['our-best', 'gpt-4-vision-preview'] },
    'gpt-5': { aliases: null },
  })
  assert.equal(changed.find('our-best')?.name, 'gpt-4o')
  assert.equal(changed.find('gpt-4o-2024-08-06')?.name, 'gpt-4o')
  assert.equal(changed.find('gpt-4-vision-preview')?.name, 'gpt-4o')
  assert.equal(changed.find('gpt-5-2025-08-07'), undefined)
  const added = load({ 'claude-opus-4': { ...plain('anthropic/claude-opus-4') } })
  assert.equal(added.find('claude-opus-4')?.name, 'claude-opus-4')
  assert.equal(added.find('claude-opus-4-0')?.name, 'anthropic/claude-opus-4')
})

test('a catalog file that gives one name to two models stops with one line', () => {
  const faults: [models: object, said: RegExp][] = [
    [{ 'gpt-4o': { aliases: ['gpt-5'] } }, /model "gpt-4o": aliases: "gpt-5" is one of "gpt-5"/],
    [
      { 'gpt-4o': { aliases: ['best'] }, 'gpt-5': { aliases: ['best'] } },
      /model "gpt-5": aliases: "best" is one of "gpt-4o"/,
    ],
    [{ 'gpt-4o': { aliases: 'best' } }, /aliases must be array/],
    [{ 'gpt-4o': { aliases: ['a b'] } }, /aliases\.\d+ must match/],
    [{ 'gpt-4o': { aliases: [7] } }, /aliases\.\d+ must be string/],
  ]
  for (const [models, said] of faults) assert.throws(() => load(models), said)
})

test('an unknown name leads to the one it is most like', () => {
  const nearest: [given: string, meant: string | undefined][] = [
    ['gpt-4o-mini', 'gpt-4o-mini'],
    ['GPT-4o', 'gpt-4o'],
    ['gpt4o', 'gpt-4o'],
    ['gpt-4o-2025-01-01', 'gpt-4o'],
    ['openai/gpt-5-mini-high', 'gpt-5-mini'],
    ['claude-sonet-4', 'anthropic/claude-sonnet-4'],
    ['claude-opus-4-1-20250805', 'anthropic/claude-opus-4'],
    ['anthropic.claude-3-5-haiku-20241022-v1:0', 'anthropic/claude-haiku-3.5'],
    ['gemini-2.5-flash-lite', 'google/gemini-2.5-flash'],
    ['eleven-v3', 'elevenlabs/eleven_v3'],
    ['llama-3.3-70b-instruct', undefined],
    ['', undefined],
    ['\u0000', undefined],
  ]
  for (const [given, expected] of nearest) assert.equal(catalog.nearest(given), expected, given)
  assert.notEqual(catalog.nearest('eleven-v3', 'chat'), 'elevenlabs/eleven_v3')
})

test('a name of a megabyte costs no more than one of 64 characters', () => {
  const started = performance.now()
  for (let times = 0; times < 20; times++) catalog.nearest('gpt-4o'.repeat(200_000))
  assert.ok(performance.now() - started < 5_000)
})

function plain(name: string) {
  const model = CHAT_MODELS.find((candidate) => candidate.name === name)
  assert.ok(model)
  const { name: _, ...fields } = model
  return JSON.parse(
    JSON.stringify(fields, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)),
  )
}
