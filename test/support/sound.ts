// Sound files for tests.

/** 16 bit, one channel, 8 kHz: silence. */
export function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const data = Buffer.alloc(Math.round(seconds * 16_000))
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(16_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return new Uint8Array(Buffer.concat([head, data]))
}
