// Sound that players accept: silence of the right length in the format asked for, made chunk by
// chunk so that an hour of it needs no memory.

const CHUNK_BYTES = 16_384
const SAMPLE_BYTES = 2
const PCM_RATES = [8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]
const MP3_FORMATS = [
  '22050_32',
  '24000_48',
  '44100_32',
  '44100_64',
  '44100_96',
  '44100_128',
  '44100_192',
]
const OPUS_RATES = [32, 64, 96, 128, 192]
// Layer III: 1152 samples a frame, half as many at the low rates; the number is its header index.
const MP3_RATES: Readonly<Record<number, { low: boolean; index: number }>> = {
  44_100: { low: false, index: 0 },
  22_050: { low: true, index: 0 },
  24_000: { low: true, index: 1 },
}
const MP3_BITRATES = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192]
const MP3_LOW_BITRATES = [0, 8, 16, 24, 32, 40, 48]
const OPUS_PACKET = Buffer.from([0xf8, 0xff, 0xfe])
const OPUS_PACKETS_PER_PAGE = 50
const OPUS_SAMPLES = 960

export type AudioFormat = { codec: string; rate_hz: number; bitrate_kbps: number }

export const DEFAULT_FORMAT = 'mp3_44100_128'

export function readFormat(name: string): AudioFormat | undefined {
  const [codec = '', rate = '', bitrate = '0'] = name.split('_')
  const format = { codec, rate_hz: Number(rate), bitrate_kbps: Number(bitrate) }
  if (codec === 'mp3') return MP3_FORMATS.includes(`${rate}_${bitrate}`) ? format : undefined
  if (codec === 'pcm' || codec === 'wav')
    return PCM_RATES.includes(format.rate_hz) ? format : undefined
  if (name === 'ulaw_8000' || name === 'alaw_8000') return format
  const opus = codec === 'opus' && rate === '48000' && OPUS_RATES.includes(format.bitrate_kbps)
  return opus ? format : undefined
}

export function contentType(format: AudioFormat): string {
  switch (format.codec) {
    case 'mp3':
      return 'audio/mpeg'
    case 'opus':
      return 'audio/ogg'
    case 'wav':
      return 'audio/wav'
    case 'pcm':
      return 'audio/pcm'
    default:
      return 'audio/basic'
  }
}

export function makeAudio(format: AudioFormat, seconds: number): Iterable<Buffer> {
  switch (format.codec) {
    case 'mp3':
      return makeMp3(format, seconds)
    case 'opus':
      return makeOpus(seconds)
    case 'wav':
      return makeWav(format, seconds)
    case 'pcm':
      return fill(Buffer.alloc(SAMPLE_BYTES), Math.round(format.rate_hz * seconds))
    case 'alaw':
      return fill(Buffer.from([0xd5]), Math.round(format.rate_hz * seconds))
    default:
      return fill(Buffer.from([0xff]), Math.round(format.rate_hz * seconds))
  }
}

/** The unit so many times, in chunks that hold whole units. */
function* fill(unit: Buffer, count: number): Iterable<Buffer> {
  const per_chunk = Math.max(Math.floor(CHUNK_BYTES / unit.length), 1)
  for (let left = count; left > 0; left -= per_chunk) {
    yield Buffer.concat(Array.from({ length: Math.min(left, per_chunk) }, () => unit))
  }
}

function makeMp3({ rate_hz, bitrate_kbps }: AudioFormat, seconds: number): Iterable<Buffer> {
  const { low, index } = MP3_RATES[rate_hz] ?? { low: false, index: 0 }
  const bitrate_index = (low ? MP3_LOW_BITRATES : MP3_BITRATES).indexOf(bitrate_kbps)
  const samples = low ? 576 : 1_152
  const frame = Buffer.alloc(Math.floor((samples * bitrate_kbps * 125) / rate_hz))
  // Sync word and version; bit rate and sample rate; single channel.
  frame.set([0xff, low ? 0xf3 : 0xfb, (bitrate_index << 4) | (index << 2), 0xc0])
  return fill(frame, Math.max(Math.round((seconds * rate_hz) / samples), 1))
}

function* makeWav({ rate_hz }: AudioFormat, seconds: number): Iterable<Buffer> {
  const samples = Math.round(rate_hz * seconds)
  const data_bytes = samples * SAMPLE_BYTES
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + data_bytes, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate_hz, 24)
  header.writeUInt32LE(rate_hz * SAMPLE_BYTES, 28)
  header.writeUInt16LE(SAMPLE_BYTES, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(data_bytes, 40)
  yield header
  yield* fill(Buffer.alloc(SAMPLE_BYTES), samples)
}

/** Two header pages, then pages of one second each: 50 packets of 20 ms. */
function* makeOpus(seconds: number): Iterable<Buffer> {
  const head = Buffer.from('OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00', 'latin1')
  const tags = Buffer.from('OpusTags\x07\x00\x00\x00sandbox\x00\x00\x00\x00', 'latin1')
  yield oggPage({ packets: [head], sequence: 0, samples: 0, flags: 2 })
  yield oggPage({ packets: [tags], sequence: 1, samples: 0, flags: 0 })
  const total = Math.max(Math.round(seconds * 50), 1)
  for (let done = 0, sequence = 2; done < total; sequence += 1) {
    const count = Math.min(OPUS_PACKETS_PER_PAGE, total - done)
    done += count
    const packets = Array.from({ length: count }, () => OPUS_PACKET)
    yield oggPage({
      packets,
      sequence,
      samples: done * OPUS_SAMPLES,
      flags: done === total ? 4 : 0,
    })
  }
}

type Page = { packets: readonly Buffer[]; sequence: number; samples: number; flags: number }

function oggPage({ packets, sequence, samples, flags }: Page): Buffer {
  const header = Buffer.alloc(27)
  header.write('OggS', 0)
  header.writeUInt8(flags, 5)
  header.writeBigInt64LE(BigInt(samples), 6)
  header.writeUInt32LE(0x53425831, 14)
  header.writeUInt32LE(sequence, 18)
  header.writeUInt8(packets.length, 26)
  const lacing = Buffer.from(packets.map((packet) => packet.length))
  const page = Buffer.concat([header, lacing, ...packets])
  page.writeUInt32LE(oggChecksum(page), 22)
  return page
}

/** CRC-32 with the polynomial of Ethernet, but not reflected and without the usual inversions. */
function oggChecksum(page: Buffer): number {
  let sum = 0
  for (const byte of page) {
    sum = (sum ^ (byte << 24)) >>> 0
    for (let bit = 0; bit < 8; bit += 1) {
      sum = (sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1) >>> 0
    }
  }
  return sum
}
