// How long uploaded audio is, before anybody has heard it: the hold is made from it.

import { parseStream, UnsupportedFileTypeError } from 'music-metadata'
import { ApiError } from '../../platform/errors.ts'
import type { UploadedFile } from './upload.ts'

const PROBE_LIMIT_MS = 10_000
/** What decoders add and headers round off. */
const MARGIN_MS = 1_000
/** The bytes of a millisecond of speech at 8 kbit/s, below which it cannot be understood, and at 192. */
const BYTES_PER_MS = { least: 1, usual: 24 }

/** In milliseconds. `least` is what the caller must be able to pay for. */
export type LengthBounds = { least: number; most: number }

/** Throws 400 for what is no audio. */
export async function boundLength(file: UploadedFile): Promise<LengthBounds> {
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

async function probe(file: UploadedFile): Promise<number | undefined> {
  const stream = file.read()
  const timer = setTimeout(
    () => stream.destroy(new Error('the file took too long')),
    PROBE_LIMIT_MS,
  )
  try {
    const about = { mimeType: file.media_type, path: file.name, size: file.size }
    const { format } = await parseStream(stream, about, { duration: true, skipCovers: true })
    if (format.hasAudio === false) throw noAudio()
    return format.duration
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

function noAudio(): ApiError {
  return new ApiError('bad_request', {
    message: 'The file is no audio.',
    hint: 'Send mp3, m4a, wav, flac, ogg or webm.',
    param: 'file',
  })
}
