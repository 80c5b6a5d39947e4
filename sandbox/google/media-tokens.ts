// What pictures, sounds, films and documents cost in a Gemini prompt.

import { readImageSize } from '../image-size.ts'
import { type JsonObject, textOf } from '../json.ts'
import { base64Bytes, countPages, guessSeconds } from '../media.ts'
import { readFields } from './fields.ts'
import type { GoogleModel } from './models.ts'

const TILE_TOKENS = 258
const PAGE_TOKENS = 258
const SMALL_PX = 384
const TILE_PX = { least: 256, most: 768 }
const MOST_PX = 3_072
const AUDIO_TOKENS_PER_SECOND = 32
const VIDEO_TOKENS_PER_SECOND = 263
const VIDEO_BYTES_PER_SECOND = 250_000
/** From Gemini 3 on, a picture and a page cost what the resolution says, whatever their size. */
const RESOLUTIONS: Readonly<Record<string, { image: number; page: number }>> = {
  MEDIA_RESOLUTION_LOW: { image: 280, page: 280 },
  MEDIA_RESOLUTION_MEDIUM: { image: 560, page: 560 },
  MEDIA_RESOLUTION_HIGH: { image: 1_120, page: 1_120 },
}
const DEFAULT_RESOLUTION = { image: 1_120, page: 560 }

export type Modality = 'TEXT' | 'IMAGE' | 'AUDIO' | 'VIDEO' | 'DOCUMENT'
export type Medium = { modality: Modality; tokens: number }

/** The medium in a part; undefined when it is text or a call. */
export function measureMedium(
  value: unknown,
  model: GoogleModel,
  config: JsonObject,
): Medium | undefined {
  const part = readFields(value)
  const { mimeType, data } = readFields(part['inlineData'] ?? part['fileData'])
  const type = textOf(mimeType)
  const base64 = textOf(data)
  const resolution = readResolution(part, config)
  if (type.startsWith('image/')) {
    return { modality: 'IMAGE', tokens: imageTokens(base64, model, resolution.image) }
  }
  if (type === 'application/pdf') {
    const page_tokens = model.media === 'resolution' ? resolution.page : PAGE_TOKENS
    return { modality: 'DOCUMENT', tokens: countPages(base64) * page_tokens }
  }
  if (type.startsWith('audio/')) {
    const seconds = Math.max(Math.ceil(guessSeconds(base64Bytes(base64))), 1)
    return { modality: 'AUDIO', tokens: seconds * AUDIO_TOKENS_PER_SECOND }
  }
  if (type.startsWith('video/')) {
    const seconds = Math.max(Math.ceil(base64Bytes(base64) / VIDEO_BYTES_PER_SECOND), 1)
    return { modality: 'VIDEO', tokens: seconds * VIDEO_TOKENS_PER_SECOND }
  }
  return undefined
}

/** The part's own resolution comes before that of the request. */
function readResolution(part: JsonObject, config: JsonObject) {
  const own = part['mediaResolution']
  const name = textOf(readFields(own)['level'] ?? own ?? config['mediaResolution'])
  return RESOLUTIONS[name] ?? DEFAULT_RESOLUTION
}

function imageTokens(base64: string, model: GoogleModel, resolution_tokens: number): number {
  switch (model.media) {
    case 'flat':
      return TILE_TOKENS
    case 'resolution':
      return resolution_tokens
    case 'tiles':
      return countTiles(base64) * TILE_TOKENS
  }
}

/**
 * A small picture is one tile. A larger one is shrunk to what the model takes and cut into squares of
 * two thirds of its shorter side, within bounds. That the whole picture then counts as one more tile
 * is not documented; recorded answers cost that much.
 */
function countTiles(base64: string): number {
  const size = readImageSize(base64)
  if (size === undefined) return 1
  const { width, height } = size
  if (width <= SMALL_PX && height <= SMALL_PX) return 1
  const scale = Math.min(1, MOST_PX / Math.max(width, height))
  const [across, down] = [width * scale, height * scale]
  const wanted_px = Math.floor(Math.min(across, down) / 1.5)
  const tile_px = Math.min(Math.max(wanted_px, TILE_PX.least), TILE_PX.most)
  const tiles = Math.ceil(across / tile_px) * Math.ceil(down / tile_px)
  return tiles === 1 ? 1 : tiles + 1
}
