// Archives of sealed months: files of CSV and zstd, whose text is what the seal has the digest of, and a manifest. The rows
// leave the database only after the files were read back.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isMonth, type Month, monthAfter } from './months.ts'
import { digestOfSeal, digestPart, type SealedPart } from './seal.ts'
import {
  ARCHIVE_MONTH,
  PREPARE_TO_READ_MONTHS,
  SEAL_PARTS,
  SELECT_SEAL_PARTS,
  SELECT_SEALS,
  type SealPart,
  type SealRow,
  TRY_ARCHIVE_LOCK,
} from './seal-store.ts'

export type ArchiveFile = SealedPart & { file: string }

export type Manifest = {
  month: Month
  sealed_at: string
  previous_digest: string
  /** Of the seal. Each file has the digest of its text, before compression. */
  digest: string
  files: ArchiveFile[]
}

/** The caller asked for what cannot be: the message says why. */
export class ArchiveFault extends Error {}

/** Behind a long reader the tables cannot be changed; it is tried a few times. */
const DETACH_TRIES = 20
const DETACH_RETRY_MS = 500

/** Writes the files and the manifest, reads them back, and takes the rows out of the database. */
export async function archiveMonth(
  db: Db,
  options: { month: Month; folder: string; drop: boolean },
): Promise<Manifest> {
  const { month, folder, drop } = options
  const { seal, files } = await db.transaction((tx) => writeFiles(tx, { month, folder }))
  const { previous_digest, digest, sealed_at } = seal
  const manifest = { month, sealed_at: sealed_at.toISOString(), previous_digest, digest, files }
  const faults = await compareWithSeal(db, manifest, folder)
  if (faults.length > 0)
    throw new ArchiveFault(`the files are not what was sealed: ${faults.join()}`)
  await writeWhole(path.join(folder, manifestName(month)), JSON.stringify(manifest, null, 2))
  await flushFolder(folder)
  await takeOut(db, month, drop)
  return manifest
}

/** What is wrong with the files of a month, in words; nothing if they are what was sealed. */
export async function verifyArchive(db: Db, manifest_file: string): Promise<string[]> {
  const manifest = parseManifest(await readFile(manifest_file, 'utf8'))
  return await compareWithSeal(db, manifest, path.dirname(manifest_file))
}

/** A manifest, or every manifest of a folder, oldest first. */
export async function findManifests(place: string): Promise<string[]> {
  if (!(await stat(place)).isDirectory()) return [place]
  const names = (await readdir(place)).filter((name) => /^ledger-\d{4}-\d{2}\.json$/.test(name))
  if (names.length === 0) throw new ArchiveFault(`${place} has no manifest`)
  return names.sort().map((name) => path.join(place, name))
}

function manifestName(month: Month): string {
  return `ledger-${month}.json`
}

/**
 * Oldest first, so that it is always one date up to which rows are in files. For one process at a time, to the end of the
 * transaction: whoever read a month that another has just taken out would write empty files over whole ones.
 */
async function findArchivable(tx: Tx, month: Month): Promise<SealRow> {
  const [lock] = await tx.run(TRY_ARCHIVE_LOCK)
  if (!lock?.locked) throw new ArchiveFault('another process is archiving')
  const seals = await tx.run(SELECT_SEALS)
  const seal = seals.find((candidate) => candidate.month === month)
  if (!seal) throw new ArchiveFault(`${month} is not sealed`)
  if (seal.archived_at) throw new ArchiveFault(`${month} is archived already`)
  const older = seals.find(({ archived_at }) => archived_at === null)
  if (older && older.month < month) throw new ArchiveFault(`${older.month} comes first`)
  // Calls that began in the month may have been posted in the next: the check compares them until that is sealed.
  if (!seals.some((candidate) => candidate.month === monthAfter(month))) {
    throw new ArchiveFault(`${month} can be archived once ${monthAfter(month)} is sealed`)
  }
  return seal
}

async function writeFiles(
  tx: Tx,
  { month, folder }: { month: Month; folder: string },
): Promise<{ seal: SealRow; files: ArchiveFile[] }> {
  const seal = await findArchivable(tx, month)
  await mkdir(folder, { recursive: true })
  await tx.run(PREPARE_TO_READ_MONTHS)
  const files: ArchiveFile[] = []
  for (const part of SEAL_PARTS) {
    const file = `${part}-${month}.csv.zst`
    files.push({ part, file, ...(await writePart(tx, { part, month }, path.join(folder, file))) })
  }
  return { seal, files }
}

async function writePart(
  tx: Tx,
  named: { part: SealPart; month: Month },
  file: string,
): Promise<{ rows: number; digest: string }> {
  const compressed = createZstdCompress()
  const written = pipeline(compressed, createWriteStream(`${file}.part`, { flush: true }))
  // Awaited below; a disk that is full must not end the process before that.
  written.catch(() => {})
  const digested = await digestPart(tx, named, async (bytes) => {
    if (!compressed.write(bytes)) await Promise.race([once(compressed, 'drain'), written])
  })
  compressed.end()
  await written
  await rename(`${file}.part`, file)
  return digested
}

async function compareWithSeal(db: Db, manifest: Manifest, folder: string): Promise<string[]> {
  const seal = (await db.run(SELECT_SEALS)).find(({ month }) => month === manifest.month)
  if (!seal) return [`${manifest.month} is not sealed in this database`]
  const parts = await db.run(SELECT_SEAL_PARTS, [`${manifest.month}-01`])
  const faults: string[] = []
  const sealed_digest = digestOfSeal({ ...seal, parts })
  if (sealed_digest !== seal.digest || manifest.digest !== seal.digest) {
    faults.push(`the manifest of ${manifest.month} has another digest than the seal`)
  }
  for (const { part, rows, digest } of parts) {
    const listed = manifest.files.find((file) => file.part === part)
    const found = listed && (await digestFile(path.join(folder, path.basename(listed.file))))
    if (found === undefined)
      faults.push(`${part} of ${manifest.month} is missing or cannot be read`)
    else if (found !== digest || listed?.rows !== Number(rows)) {
      faults.push(`${listed?.file} is not what was sealed`)
    }
  }
  return faults
}

async function digestFile(file: string): Promise<string | undefined> {
  const sha256 = createHash('sha256')
  try {
    await pipeline(createReadStream(file), createZstdDecompress(), async (text) => {
      for await (const bytes of text) sha256.update(bytes)
    })
  } catch {
    return undefined
  }
  return sha256.digest('hex')
}

async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.part`, `${text}\n`, { flush: true })
  await rename(`${file}.part`, file)
}

/** A renamed file has its name for good only once the folder is on the disk. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function takeOut(db: Db, month: Month, drop: boolean): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await db.transaction(async (tx) => {
        await findArchivable(tx, month)
        await tx.run(ARCHIVE_MONTH, [`${month}-01`, drop])
      })
      return
    } catch (error) {
      const is_busy = error instanceof ApiError && error.code === 'service_unavailable'
      if (!is_busy || tries === DETACH_TRIES) throw error
      await sleep(DETACH_RETRY_MS)
    }
  }
}

function parseManifest(text: string): Manifest {
  const manifest: unknown = JSON.parse(text)
  if (!isManifest(manifest)) throw new ArchiveFault('this is no manifest of an archive')
  return manifest
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null) return false
  if (!('month' in value && 'digest' in value && 'files' in value)) return false
  return typeof value.month === 'string' && isMonth(value.month) && Array.isArray(value.files)
}
