// A file that a client uploads. It waits on disk, not in memory, because the fields that say what to do with it may
// come after it, and is gone with the call: its name is removed as soon as it is open, so that nothing is left
// behind however the process ends.

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { ApiError } from '../../platform/errors.ts'

export const UPLOAD_MAX_BYTES = 25 * 1024 * 1024
/** For the fields and the boundaries beside the file. */
const REST_MAX_BYTES = 1024 * 1024
const FIELD_MAX_BYTES = 64 * 1024
const FIELDS_MAX = 50
const PIECE_BYTES = 64 * 1024
/** At once, in one process: together they take 2.5 GB of the disk at most. */
const UPLOADS_MAX = 100

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
    const stream = Readable.from(readPieces(this.#handle, this.size), { objectMode: false })
    // Its reader may have gone before it fails; then nobody else would listen, and the process would end.
    return stream.on('error', () => {})
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

type UploadRequest = Readable & Pick<IncomingMessage, 'headers'>

export type Upload = {
  file: UploadedFile | undefined
  /** All values of each field, in order. */
  fields: ReadonlyMap<string, readonly string[]>
}

/** What lies on disk. It is bounded, because whoever has a key may send some, with or without credits. */
export class Uploads {
  readonly #folder: string
  /** How many there are. */
  open = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The file is gone when `use` is done. Throws 400, 413, 415 or 503 in our words. */
  async receive<Result>(
    request: UploadRequest,
    use: (upload: Upload) => Promise<Result>,
  ): Promise<Result> {
    if (this.open >= UPLOADS_MAX) throw tooMany()
    this.open += 1
    let upload: Upload | undefined
    try {
      upload = await readUpload(request, this.#folder)
      return await use(upload)
    } finally {
      this.open -= 1
      await upload?.file?.close()
    }
  }
}

async function readUpload(request: UploadRequest, folder: string): Promise<Upload> {
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
  const parser = openParser(content_type)
  return await readParts(request, new Form(parser, await openNameless(folder)))
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

async function readParts(request: UploadRequest, form: Form): Promise<Upload> {
  let received = 0
  try {
    // Whatever is wrong with it, the request stays open: the answer goes back over its connection.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      received += piece.length
      if (received > UPLOAD_MAX_BYTES + REST_MAX_BYTES) throw tooLarge()
      await form.write(piece)
    }
    return await form.end()
  } catch (error) {
    await form.abandon()
    // Nobody reads the rest, and a client that is still sending it would not look at the answer.
    request.resume()
    if (error instanceof ApiError) throw error
    throw badForm('The form is cut off, or is no multipart/form-data.', error)
  }
}

type Parser = ReturnType<typeof openParser>

/** The parser throws its faults from callbacks, where they would end the process: here each ends the reading. */
class Form {
  readonly #parser: Parser
  readonly #handle: FileHandle
  readonly #fields = new Map<string, string[]>()
  readonly #fault = Promise.withResolvers<never>()
  #file: Promise<UploadedFile> | undefined

  constructor(parser: Parser, handle: FileHandle) {
    this.#parser = parser
    this.#handle = handle
    const fail = (error: unknown) => this.#fault.reject(error)
    // Looked at with the next piece; until then it must not count as unhandled.
    this.#fault.promise.catch(() => {})
    parser.on('error', fail)
    parser.on('field', (name: string | undefined, value, _is_name_cut, is_cut) => {
      if (name === undefined) fail(badForm('A field of the form has no name.'))
      else if (is_cut) fail(badForm(`The field ${name.slice(0, 64)} is too long.`))
      else this.#fields.set(name, [...(this.#fields.get(name) ?? []), value])
    })
    parser.on('file', (...[name, stream, file_name, , media_type]) => {
      stream.on('error', fail)
      stream.on('limit', () => fail(tooLarge()))
      if (name === 'file') this.#takeFile(stream, { name: file_name || 'audio', media_type })
      else stream.resume()
    })
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      parser.on(event, () => fail(badForm('The form has too many fields.')))
    }
  }

  async write(piece: Buffer): Promise<void> {
    const written = Promise.withResolvers<void>()
    this.#parser.write(piece, () => written.resolve())
    await Promise.race([written.promise, this.#fault.promise])
  }

  async end(): Promise<Upload> {
    const ended = Promise.withResolvers<void>()
    this.#parser.once('finish', () => ended.resolve())
    this.#parser.end()
    await Promise.race([ended.promise, this.#fault.promise])
    const file = await Promise.race([this.#file, this.#fault.promise])
    if (!file) await this.#handle.close()
    return { file, fields: this.#fields }
  }

  /** Nothing of it is kept, and nothing waits for the rest of it. */
  async abandon(): Promise<void> {
    this.#parser.destroy()
    await this.#handle.close()
  }

  #takeFile(stream: BusboyFileStream, about: { name: string; media_type: string }): void {
    this.#file = writeFile(stream, this.#handle).then(
      (size) => new UploadedFile(this.#handle, { ...about, size }),
    )
    this.#file.catch((cause: unknown) => {
      const is_ours = cause instanceof Error && 'syscall' in cause
      this.#fault.reject(is_ours ? new ApiError('internal_error', { cause }) : cause)
    })
  }
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

function tooMany(): ApiError {
  const detail = `${UPLOADS_MAX} uploads are open`
  return new ApiError('service_unavailable', { detail, headers: { 'retry-after': '5' } })
}

function tooLarge(): ApiError {
  return new ApiError('bad_request', {
    status: 413,
    message: `The file is larger than ${UPLOAD_MAX_BYTES / 1024 / 1024} MB.`,
    hint: 'Compress the audio, or split it.',
    param: 'file',
  })
}
