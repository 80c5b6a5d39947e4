// A file that a client uploads. It waits on disk, not in memory, because the fields that say what to do with it may
// come after it, and is gone with the call: its name is removed as soon as it is open, so that nothing is left
// behind however the process ends.

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { ApiError } from '../../platform/errors.ts'

export const UPLOAD_MAX_BYTES = 25 * 1024 * 1024
/** For the fields and the boundaries beside the file. */
const REST_MAX_BYTES = 1024 * 1024
const FIELD_MAX_BYTES = 64 * 1024
const FIELDS_MAX = 50
const PIECE_BYTES = 64 * 1024

export class UploadedFile {
  readonly name: string
  readonly media_type: string
  readonly size: number
  readonly #handle: FileHandle

  constructor(handle: FileHandle, about: { name: string; media_type: string; size: number }) {
    this.#handle = handle
    this.name = about.name
    this.media_type = about.media_type
    this.size = about.size
  }

  /** From the beginning, each time. */
  read(): Readable {
    return Readable.from(readPieces(this.#handle, this.size), { objectMode: false })
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

export type Upload = {
  file: UploadedFile | undefined
  /** All values of each field, in order. */
  fields: ReadonlyMap<string, readonly string[]>
}

/** Throws 400, 413 or 415 in our words. Whoever takes the upload closes its file. */
export async function readUpload(request: IncomingMessage, folder: string): Promise<Upload> {
  const content_type = request.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\b/i.test(content_type)) {
    throw new ApiError('bad_request', {
      status: 415,
      message: 'The body must be multipart/form-data.',
      hint: 'Send the audio as the field `file` of a form.',
    })
  }
  if (Number(request.headers['content-length']) > UPLOAD_MAX_BYTES + REST_MAX_BYTES)
    throw tooLarge()
  const handle = await openNameless(folder)
  try {
    return await readParts(request, { content_type, handle })
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Of what the form says, whatever its boundary is; the file is read from the disk once more. */
export async function digestUpload({ file, fields }: Upload): Promise<Buffer> {
  const hash = createHash('sha256')
  const named = [...fields].sort(([left], [right]) => (left < right ? -1 : 1))
  hash.update(JSON.stringify([named, file?.name, file?.media_type, file?.size]))
  if (file) for await (const piece of file.read()) hash.update(piece)
  return hash.digest()
}

async function openNameless(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true })
  const name = path.join(folder, randomUUID())
  const handle = await open(name, 'wx+', 0o600)
  await unlink(name)
  return handle
}

async function readParts(
  request: IncomingMessage,
  { content_type, handle }: { content_type: string; handle: FileHandle },
): Promise<Upload> {
  const fields = new Map<string, string[]>()
  let file: UploadedFile | undefined
  let writing: Promise<void> | undefined
  let fault: ApiError | undefined
  const parser = openParser(content_type)
  parser.on('field', (name, value, _is_name_cut, is_cut) => {
    if (is_cut) fault ??= badForm(`The field ${name.slice(0, 64)} is too long.`)
    fields.set(name, [...(fields.get(name) ?? []), value])
  })
  parser.on('file', (...[name, stream, file_name, , media_type]) => {
    if (name !== 'file' || writing) {
      stream.resume()
      return
    }
    writing = writeFile(stream, handle).then((size) => {
      if (stream.truncated) fault ??= tooLarge()
      file = new UploadedFile(handle, { name: file_name, media_type, size })
    })
    // Looked at below; until then it must not count as unhandled.
    writing.catch(() => {})
  })
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    parser.on(event, () => {
      fault ??= badForm('The form has too many fields.')
    })
  }
  try {
    await pipeline(request, parser)
    await writing
  } catch (error) {
    throw fault ?? badForm('The form is cut off, or is no multipart/form-data.', error)
  }
  if (fault) throw fault
  if (!file) await handle.close()
  return { file, fields }
}

function openParser(content_type: string) {
  try {
    return new Busboy({
      headers: { 'content-type': content_type },
      limits: {
        files: 1,
        fields: FIELDS_MAX,
        parts: FIELDS_MAX + 1,
        fieldSize: FIELD_MAX_BYTES,
        fileSize: UPLOAD_MAX_BYTES,
        headerPairs: 20,
      },
    })
  } catch (error) {
    throw badForm('The content type names no boundary.', error)
  }
}

async function writeFile(stream: BusboyFileStream, handle: FileHandle): Promise<number> {
  let size = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    await handle.appendFile(piece)
    size += piece.length
  }
  return size
}

/** By position: streams of one handle would end each other. */
async function* readPieces(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(PIECE_BYTES), position })
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

function badForm(message: string, cause?: unknown): ApiError {
  const hint = 'Send the audio as the field `file` of a multipart/form-data body.'
  return new ApiError('bad_request', { message, hint, ...(cause !== undefined && { cause }) })
}

function tooLarge(): ApiError {
  return new ApiError('bad_request', {
    status: 413,
    message: `The file is larger than ${UPLOAD_MAX_BYTES / 1024 / 1024} MB.`,
    hint: 'Compress the audio, or split it.',
    param: 'file',
  })
}
