import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { EventTooLarge, formatEvent, readEvents, type ServerSentEvent } from './sse.ts'

async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const to of [...places, bytes.length]) {
    yield bytes.subarray(from, to)
    from = to
  }
}

async function parse(text: string | Uint8Array, cuts: readonly number[] = []) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  const events: ServerSentEvent[] = []
  for await (const read of readEvents(pieces(bytes, cuts))) events.push(...read)
  return events
}

const everyByte = (text: string) => Array.from({ length: Buffer.byteLength(text) }, (_, at) => at)

test('events have a name, data of one or more lines, and comments are passed over', async () => {
  const text =
    ': hello\n\nevent: delta\ndata: {"a":1}\n\ndata:one\ndata: two\ndata:  three\nid: 4\nretry: 5\n\ndata\n\n'
  assert.deepEqual(await parse(text), [
    { name: 'delta', data: '{"a":1}' },
    { name: undefined, data: 'one\ntwo\n three' },
    { name: undefined, data: '' },
  ])
})

test('a name without data is no event, and does not stick to the next one', async () => {
  assert.deepEqual(await parse('event: ping\n\ndata: x\n\n'), [{ name: undefined, data: 'x' }])
})

test('a byte order mark at the start is passed over, wherever the chunks end', async () => {
  const text = '\uFEFFdata: \uFEFFx\n\n'
  const expected = [{ name: undefined, data: '\uFEFFx' }]
  assert.deepEqual(await parse(text), expected)
  assert.deepEqual(await parse(text, everyByte(text)), expected)
})

test('lines end in LF, CR LF or CR', async () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const text = ['event: a', 'data: 1', 'data: 2', '', 'data: 3', '', ''].join(end)
    const expected = [
      { name: 'a', data: '1\n2' },
      { name: undefined, data: '3' },
    ]
    assert.deepEqual(await parse(text), expected)
    assert.deepEqual(await parse(text, everyByte(text)), expected)
  }
})

test('an event that the stream ends in the middle of is dropped', async () => {
  assert.deepEqual(await parse('data: 1\n\ndata: 2'), [{ name: undefined, data: '1' }])
  assert.deepEqual(await parse('data: 1\n\ndata: 2\n'), [{ name: undefined, data: '1' }])
})

test('any split of the bytes gives the same events', async () => {
  const line = fc.oneof(
    fc.constantFrom('', '', ':', ': note', 'data', 'data:', 'event: é', 'id: 1', 'data: 🦊日本'),
    fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text}`),
    fc.string({ unit: 'binary', maxLength: 12 }),
  )
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const stream = fc
    .tuple(fc.boolean(), fc.array(fc.tuple(line, end), { maxLength: 30 }))
    .map(([mark, lines]) => (mark ? '\uFEFF' : '') + lines.flat().join(''))
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(), { maxLength: 40 }), async (text, cuts) => {
      const whole = await parse(text)
      assert.deepEqual(await parse(text, cuts), whole)
      assert.deepEqual(await parse(text, everyByte(text)), whole)
    }),
    { numRuns: 300 },
  )
})

test('any split of bytes that are no text gives the same events', async () => {
  const bytes = fc.uint8Array({ maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(), { maxLength: 20 }), async (noise, cuts) => {
      const text = Buffer.concat([Buffer.from('data: '), noise, Buffer.from('\n\n')])
      assert.deepEqual(await parse(text, cuts), await parse(text))
    }),
  )
})

test('what formatEvent writes, readEvents reads', async () => {
  const event = fc.record({
    name: fc.option(fc.stringMatching(/^[a-z_]{1,20}$/), { nil: undefined }),
    data: fc.string({ unit: 'binary' }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 8 }), async (events) => {
      const text = events.map(formatEvent).join('')
      const normal = events.map(({ name, data }) => ({ name, data: data.replace(/\r\n?/g, '\n') }))
      assert.deepEqual(await parse(text), normal)
    }),
  )
})

test('an event of 1 MB arrives whole, also five bytes at a time', async () => {
  const data = JSON.stringify({ text: 'é'.repeat(500_000) })
  const text = Buffer.from(`data: ${data}\n\n`)
  const cuts = Array.from({ length: text.length / 5 }, (_, at) => at * 5)
  const [event] = await parse(text, cuts)
  assert.equal(event?.data, data)
})

test('an event beyond the limit is refused before it is kept, in one line or in many', async () => {
  let pulled = 0
  async function* endless(piece: string) {
    for (;;) {
      pulled += 1
      yield Buffer.from(piece)
    }
  }
  for (const piece of ['data: x', 'data: y\n', ': comment\n', 'x'.repeat(10)]) {
    pulled = 0
    await assert.rejects(async () => {
      for await (const [event] of readEvents(endless(piece), 1_000)) assert.fail(event?.data)
    }, EventTooLarge)
    assert.ok(pulled < 300)
  }
})

test('the events of one read come together, also those before one that is refused', async () => {
  async function* source() {
    yield Buffer.from('data: 1\n\ndata: 2\n\nda')
    yield Buffer.from('ta: 3')
    yield Buffer.from(`\n\ndata: 4\n\ndata: ${'x'.repeat(200)}\n\ndata: 6\n\n`)
  }
  const reads: string[][] = []
  await assert.rejects(async () => {
    for await (const read of readEvents(source(), 100)) reads.push(read.map(({ data }) => data))
  }, EventTooLarge)
  assert.deepEqual(reads, [
    ['1', '2'],
    ['3', '4'],
  ])
})

test('the reader sets the pace: nothing is pulled before it is asked for', async () => {
  let pulled = 0
  async function* source() {
    for (; pulled < 10; ) {
      pulled += 1
      yield Buffer.from(`data: ${pulled}\n\n`)
    }
  }
  const events = readEvents(source())
  await events.next()
  await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(pulled, 1)
  await events.return()
  assert.equal(pulled, 1)
})
