// Builds the console into console/dist if its sources have changed since. Without Vite, as in an installation for
// production, it says so in one line: the API does not need it.

import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const ROOT = path.resolve(import.meta.dirname, '..')
const BUILT = path.join(ROOT, 'console/dist')
const STAMP = path.join(BUILT, 'sources.sha256')

export async function buildConsole(): Promise<void> {
  const wanted = hashSources()
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return
  const vite = await import('vite').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
      return undefined
    }
    throw error
  })
  if (!vite) {
    process.stderr.write(
      'svc: the console is not built: npm ci --include=dev installs what builds it\n',
    )
    return
  }
  process.stderr.write('svc: building the console\n')
  // Beside the folder that may be in use, and then in its place.
  const outDir = `${BUILT}-${process.pid}`
  const configFile = path.join(ROOT, 'console/vite.config.ts')
  await vite.build({ configFile, logLevel: 'warn', build: { outDir, emptyOutDir: true } })
  compress(path.join(outDir, 'assets'))
  writeFileSync(path.join(outDir, path.basename(STAMP)), wanted)
  rmSync(BUILT, { recursive: true, force: true })
  renameSync(outDir, BUILT)
}

/** Of everything that the result is made of. */
function hashSources(): string {
  const files = globSync('console/**/*.{ts,tsx,css,html,json,svg}', { cwd: ROOT })
    .filter((file) => !file.startsWith(path.join('console', 'dist')))
    .concat('src/http/tokens.css', 'package-lock.json')
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(readFileSync(path.join(ROOT, file)))
  return hash.digest('hex')
}

function compress(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name)
    const content = readFileSync(file)
    writeFileSync(`${file}.br`, brotliCompressSync(content))
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
  }
}

if (import.meta.main) await buildConsole()
