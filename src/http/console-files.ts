// The built console (console/dist), read once into memory. An address is looked up among the names that were
// read: no address is ever joined to a path, so that none can reach another file.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { StaticFile } from './static-file.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
}

export const CONSOLE_FOLDER = path.resolve(import.meta.dirname, '../../console/dist')

export type ConsoleFiles = {
  /** By name within `assets/`. */
  readonly assets: ReadonlyMap<string, StaticFile>
  readonly index: string
}

/** Undefined if nothing was built. */
export function readConsoleFiles(folder = CONSOLE_FOLDER): ConsoleFiles | undefined {
  const index = path.join(folder, 'index.html')
  if (!existsSync(index)) return undefined
  const assets = path.join(folder, 'assets')
  const names = readdirSync(assets).filter((name) => TYPES[path.extname(name)] !== undefined)
  return {
    assets: new Map(names.map((name) => [name, readForms(path.join(assets, name))])),
    index: readFileSync(index, 'utf8'),
  }
}

function readForms(file: string): StaticFile {
  const optional = (name: string) => (existsSync(name) ? readFileSync(name) : undefined)
  return {
    type: TYPES[path.extname(file)] ?? 'application/octet-stream',
    plain: readFileSync(file),
    gzip: optional(`${file}.gz`),
    brotli: optional(`${file}.br`),
  }
}
