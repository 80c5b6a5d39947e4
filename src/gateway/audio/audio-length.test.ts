import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { boundLength } from './audio-length.ts'

const BYTES_PER_SECOND = 16_000

/** 16 bit, one channel, 8 kHz. `said_s`: what the header says, whatever comes after it. */
function wav(seconds: number, said_s = seconds): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + said_s * BYTES_PER_SECOND, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(BYTES_PER_SECOND, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(said_s * BYTES_PER_SECOND, 40)
  return Buffer.concat([head, Buffer.alloc(seconds * BYTES_PER_SECOND)])
}

const uploaded = (bytes: Buffer, media_type = 'audio/wav') => ({
  name: 'recording',
  media_type,
  size: bytes.length,
  read: () => Readable.from([bytes], { objectMode: false }),
})

test('a file is as long as it says, and a second more', async () => {
  assert.deepEqual(await boundLength(uploaded(wav(5))), { least: 6_000, most: 6_000 })
})

test('a file that is much too large for the length it says is measured by its size', async () => {
  const { least, most } = await boundLength(uploaded(wav(600, 1)))
  const bytes = wav(600, 1).length
  assert.ok(least > 300_000, String(least))
  assert.equal(most, bytes + 1_000)
})

test('a file that is made to keep its reader busy is given up, and measured by its size', async () => {
  const head = Buffer.from('\0\0\0\x18ftypM4A \0\0\0\0M4A isom', 'latin1')
  const boxes = Buffer.from('\0\0\0\x08free'.repeat(1_000_000), 'latin1')
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 1)
  timer.unref()
  const bytes = Buffer.concat([head, boxes])
  const { most } = await boundLength(uploaded(bytes, 'audio/mp4'))
  clearInterval(timer)
  assert.equal(most, bytes.length + 1_000)
  assert.ok(turns > 3, 'nobody else had a turn')
})
