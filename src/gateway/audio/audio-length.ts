// How long uploaded audio is, before anybody has heard it: the hold is made from it.

import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { IFormat } from 'music-metadata'
import { ApiError } from '../../platform/errors.ts'
import type { UploadedFile } from './upload.ts'

const PROBE_LIMIT_MS = 10_000
/** A recording of 25 MB takes a tenth of it; a file made for the purpose would keep the process busy for minutes. */
const WORK_LIMIT_MS = 1_000
/** Then everybody else has a turn. */
const TURN_MS = 5
const TURN_BYTES = 4 * 1024
/** What decoders add and headers round off. */
const MARGIN_MS = 1_000
/** The bytes of a millisecond of speech at 8 kbit/s, below which it cannot be understood, and at 192. */
const BYTES_PER_MS = { least: 1, usual: 24 }
/** More is in no millisecond: of four channels of 32 bit at 96 kHz, or of 512 kbit/s where sound is compressed. */
const BYTES_PER_MS_MAX = { plain: 1_536, compressed: 64 }

type Measured = Pick<UploadedFile, 'name' | 'media_type' | 'size' | 'read'>

/** In milliseconds. `least` is what the caller must be able to pay for. */
export type LengthBounds = { least: number; most: number }

/** Throws 400 for what is no audio. */
export async function boundLength(file: Measured): Promise<LengthBounds> {
  const seconds = await probe(file)
  if (seconds !== undefined && seconds > 0) {
    const length = Math.ceil(seconds * 1000) + MARGIN_MS
    return { least: length, most: length }
  }
  return {
    least: Math.ceil(file.size / BYTES_PER_MS.usual) + MARGIN_MS,
    most: Math.ceil(file.size / BYTES_PER_MS.least) + MARGIN_MS,
  }
}

async function probe(file: Measured): Promise<number | undefined> {
  // With its first use: it would make every start an eighth of a second longer.
  const { parseStream, UnsupportedFileTypeError } = await import('music-metadata')
  const stream = Readable.from(inTurns(file), { objectMode: false, highWaterMark: TURN_BYTES })
  const timer = setTimeout(
    () => stream.destroy(new Error('the file took too long')),
    PROBE_LIMIT_MS,
  )
  try {
    const about = { mimeType: file.media_type, path: file.name, size: file.size }
    const { format } = await parseStream(stream, about, { duration: true, skipCovers: true })
    // The parser takes a file that was given up for one that has ended.
    if (stream.errored) return undefined
    if (format.hasAudio === false) throw noAudio()
    return isCredible(format, file.size) ? format.duration : undefined
  } catch (error) {
    if (error instanceof ApiError) throw error
    if (error instanceof UnsupportedFileTypeError) throw noAudio()
    // Damaged, or of a kind that only the provider knows.
    return undefined
  } finally {
    clearTimeout(timer)
    stream.destroy()
  }
}

/** In small pieces: what happens between two of them is the work that they make. */
async function* inTurns(file: Measured): AsyncGenerator<Buffer> {
  let worked_ms = 0
  let turn_ms = 0
  for await (const piece of file.read() as AsyncIterable<Buffer>) {
    for (let at = 0; at < piece.length; at += TURN_BYTES) {
      const began_at = performance.now()
      yield piece.subarray(at, at + TURN_BYTES)
      const took_ms = performance.now() - began_at
      worked_ms += took_ms
      turn_ms += took_ms
      if (worked_ms > WORK_LIMIT_MS) throw new Error('the file takes too much work')
      if (turn_ms < TURN_MS) continue
      await setImmediate()
      turn_ms = 0
    }
  }
}

/** A header is the client's own word, and the provider hears all that comes after it. */
function isCredible({ duration = 0, lossless, hasVideo }: IFormat, bytes: number): boolean {
  const is_compressed = lossless === false && hasVideo !== true
  const most = is_compressed ? BYTES_PER_MS_MAX.compressed : BYTES_PER_MS_MAX.plain
  return bytes <= (duration * 1000 + MARGIN_MS) * most
}

function noAudio(): ApiError {
  return new ApiError('bad_request', {
    message: 'The file is no audio.',
    hint: 'Send mp3, m4a, wav, flac, ogg or webm.',
    param: 'file',
  })
}
