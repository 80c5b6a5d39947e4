// The width and height of a picture, from the head of its file. Nothing else of it is read.

export type ImageSize = { width: number; height: number }

const MAX_SEGMENTS = 1_000

/** Undefined when the bytes are no PNG, GIF or JPEG, or end too early. */
export function readImageSize(base64: string): ImageSize | undefined {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length < 24) return undefined
  if (bytes.toString('latin1', 1, 4) === 'PNG') {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  }
  if (bytes.toString('latin1', 0, 3) === 'GIF') {
    return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  }
  return bytes.readUInt16BE(0) === 0xffd8 ? readJpegSize(bytes) : undefined
}

/** A JPEG is a row of segments; the one that starts a frame has the size. */
function readJpegSize(bytes: Buffer): ImageSize | undefined {
  let at = 2
  for (let count = 0; count < MAX_SEGMENTS && at + 9 <= bytes.length; count += 1) {
    const marker = bytes[at + 1] ?? 0
    const starts_frame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (starts_frame) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}
