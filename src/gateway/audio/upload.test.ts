// Forms that no browser would send. Each comes in pieces, as from a network, and none may end the process or hang.

import assert from 'node:assert/strict'
import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { ApiError } from '../../platform/errors.ts'
import { UPLOAD_MAX_BYTES, type Upload, Uploads } from './upload.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'uploads-'))
const uploads = new Uploads(folder)
const END = '\r\n--x--\r\n'

const part = (headers: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--x\r\n${headers}\r\n\r\n`), Buffer.from(content)])
const fileNamed = (name: string, content: string | Buffer) =>
  part(`content-disposition: form-data; name="${name}"; filename="a.wav"`, content)
const field = (name: string, content: string) =>
  part(`content-disposition: form-data; name="${name}"`, content)

function sent(pieces: Iterable<string | Buffer> | AsyncIterable<Buffer>) {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  return Object.assign(Readable.from(pieces, { objectMode: false }), { headers })
}

async function receive(pieces: (string | Buffer)[]): Promise<Upload> {
  return await receiveFrom(sent(pieces))
}

const receiveFrom = (request: ReturnType<typeof sent>) =>
  uploads.receive(request, async (upload) => upload)

async function refused(pieces: (string | Buffer)[], status = 400): Promise<void> {
  await assert.rejects(
    receive(pieces),
    (error) => error instanceof ApiError && error.status === status,
  )
}

describe('an upload', () => {
  test('has its fields before and after the file', async () => {
    const pieces = [field('a', '1'), '\r\n', fileNamed('file', 'abc'), '\r\n', field('b', '2'), END]
    await uploads.receive(sent(pieces), async ({ fields, file }) => {
      const expected = [
        ['a', ['1']],
        ['b', ['2']],
      ]
      assert.deepEqual([...fields], expected)
      assert.equal(file?.size, 3)
      assert.equal(await text(file.read()), 'abc')
      assert.equal(await text(file.read()), 'abc')
      assert.deepEqual(await readdir(folder), [])
    })
  })

  test('may have a file without a name', async () => {
    const headers =
      'content-disposition: form-data; name="file"\r\ncontent-type: application/octet-stream'
    const { file } = await receive([part(headers, 'abc'), END])
    assert.equal(file?.name, 'audio')
  })

  test('may be as large as is said, and no byte larger', async () => {
    const whole = Buffer.alloc(UPLOAD_MAX_BYTES)
    const { file } = await receive([fileNamed('file', whole), END])
    assert.equal(file?.size, UPLOAD_MAX_BYTES)
    await refused([fileNamed('file', whole), 'a', END], 413)
  })

  test('is refused where it has two files, or the file under another name', async () => {
    await refused([fileNamed('file', 'abc'), '\r\n', fileNamed('file', 'def'), END])
    const { file } = await receive([fileNamed('audio', 'abc'), END])
    assert.equal(file, undefined)
  })

  test('that ends too early is refused, wherever it ends', async () => {
    await refused([])
    await refused(['hello'])
    await refused(['--x\r\ncontent-disp'])
    await refused([field('a', '1')])
    await refused([fileNamed('file', 'abc')])
    await refused([fileNamed('audio', 'abc')])
  })

  test('is refused for a field without a name, or one that is too long', async () => {
    await refused([part('content-disposition: form-data', 'a'), END])
    await refused([part('content-disposition: form-data', 'a'.repeat(70_000)), END])
    await refused([field('prompt', 'a'.repeat(70_000)), END])
  })

  test('that never ends is refused as soon as it is too large, and its connection is left open for the answer', async () => {
    let taken = 0
    async function* endless() {
      yield fileNamed('other', '')
      for (;;) {
        taken += 1
        yield Buffer.alloc(1024 * 1024)
      }
    }
    const request = sent(endless())
    await assert.rejects(
      receiveFrom(request),
      (error) => error instanceof ApiError && error.status === 413,
    )
    assert.ok(taken < 40, `${taken} MB`)
    assert.equal(request.destroyed, false)
    request.destroy()
  })

  test('whose client leaves half way is refused', async () => {
    async function* leaving() {
      yield fileNamed('file', 'abc')
      throw new Error('aborted')
    }
    await assert.rejects(receiveFrom(sent(leaving())), ApiError)
  })

  test('waits for its turn where too many lie on disk already', async () => {
    const full = new Uploads(folder)
    full.open = 100
    const pieces = [fileNamed('file', 'abc'), END]
    await assert.rejects(
      full.receive(sent(pieces), async () => {}),
      (error) => error instanceof ApiError && error.status === 503,
    )
    full.open = 99
    await full.receive(sent(pieces), async () => assert.equal(full.open, 100))
    assert.equal(full.open, 99)
    await assert.rejects(
      full.receive(sent(pieces), async () => {
        throw new Error('refused later')
      }),
      /refused later/,
    )
    assert.equal(full.open, 99)
    assert.equal(uploads.open, 0)
  })
})
