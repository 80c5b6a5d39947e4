// The browser module (sdk/svc-<version>.js), read once into memory: every version that was ever published, so that a page which names
// one by its hash works for as long as there is a gateway.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { StaticFile } from './static-file.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../sdk')
const VERSIONED = /^svc-(\d+)\.(\d+)\.(\d+)\.js$/
const FOR_EVER = 'public, max-age=31536000, immutable'
/** How long a page may be behind after an update. */
const FOR_NOW = 'public, max-age=600'

export type SdkFile = StaticFile & { readonly cache_control: string }

/** By their names within /sdk/. */
export function readSdkFiles(folder = FOLDER): ReadonlyMap<string, SdkFile> {
  const names = readdirSync(folder)
    .filter((name) => VERSIONED.test(name))
    .sort(byVersion)
  const read = names.map((name) => ({ name, content: readFileSync(path.join(folder, name)) }))
  const newest = read.at(-1)
  if (!newest) throw new Error(`${folder} has no browser module`)
  const files = new Map(read.map(({ name, content }) => [name, asScript(content, FOR_EVER)]))
  files.set('svc.js', asScript(newest.content, FOR_NOW))
  files.set('manifest.json', describe(read, newest.name))
  return files
}

/** As browsers take it in `integrity`. */
export function integrityOf(content: Buffer): string {
  return `sha384-${createHash('sha384').update(content).digest('base64')}`
}

function byVersion(one: string, other: string): number {
  const [first, second] = [one, other].map((name) => VERSIONED.exec(name)?.slice(1).map(Number))
  const difference = first?.map((part, place) => part - (second?.[place] ?? 0))
  return difference?.find((part) => part !== 0) ?? 0
}

function describe(read: readonly { name: string; content: Buffer }[], latest: string): SdkFile {
  const integrity = read.map(({ name, content }) => [name, integrityOf(content)])
  const text = JSON.stringify({ latest, integrity: Object.fromEntries(integrity) }, null, 2)
  return inAllForms(Buffer.from(text), { type: 'application/json', cache_control: FOR_NOW })
}

function asScript(content: Buffer, cache_control: string): SdkFile {
  return inAllForms(content, { type: 'text/javascript; charset=utf-8', cache_control })
}

/** Compressed when somebody asks: most processes never serve it, and it would be a twentieth of their start. */
function inAllForms(plain: Buffer, about: Pick<SdkFile, 'type' | 'cache_control'>): SdkFile {
  const made: { gzip?: Buffer; brotli?: Buffer } = {}
  return {
    ...about,
    plain,
    get gzip() {
      return (made.gzip ??= gzipSync(plain, { level: 9 }))
    },
    get brotli() {
      return (made.brotli ??= brotliCompressSync(plain))
    },
  }
}
