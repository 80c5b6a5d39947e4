// Speech, sounds and transcripts, by OpenAI's own client and by hand, against the stand-in of ElevenLabs.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { assertBooksClosed, balanceOf, grant, startGateway, usageOf } from '../support/gateway.ts'
import { connectHosted, createOAuthApp } from '../support/oauth.ts'
import { wav } from '../support/sound.ts'

const FLASH = 'elevenlabs/eleven_flash_v2_5'
const SCRIBE = 'elevenlabs/scribe_v1'
const SOUND = 'elevenlabs/eleven_text_to_sound_v2'
/** Credits, as the price list says: a character, an hour, a sound. */
const PRICE = { character: 50n, hour: 220_000n, sound: 120_000n }

const gateway = await startGateway()

async function customer(credits = 10_000_000n) {
  const owner = await gateway.customer(credits)
  const { key, id: key_id } = await owner.newKey()
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
  const post = (path: string, body: object) =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const upload = (form: FormData | Blob | string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: form,
    })
  return { ...owner, key_id, client, post, upload }
}

function form(fields: Record<string, string>, file?: Blob, name = 'a.wav') {
  const data = new FormData()
  // The file first, as OpenAI's client sends it: nobody knows the model yet.
  if (file) data.set('file', file, name)
  for (const [field, value] of Object.entries(fields)) data.set(field, value)
  return data
}

const audio = (seconds: number) => new Blob([wav(seconds)], { type: 'audio/wav' })

describe('speech', () => {
  test('costs its characters, says so in the headers, and can be played', async () => {
    const { client, account_id, key_id, bearer } = await customer()
    // Eleven code points, twelve UTF-16 units.
    const input = 'Good day 🙂!'
    const reply = await client.audio.speech.create({ model: FLASH, voice: 'alloy', input })
    const bytes = Buffer.from(await reply.arrayBuffer())
    assert.equal(reply.headers.get('content-type'), 'audio/mpeg')
    assert.deepEqual([...bytes.subarray(0, 2)], [0xff, 0xfb])
    const cost = 11n * PRICE.character
    assert.equal(reply.headers.get('x-svc-credits-used'), String(cost))
    assert.equal(reply.headers.get('x-svc-balance-before'), '10000000')
    assert.equal(reply.headers.get('x-svc-balance-after'), String(10_000_000n - cost))
    assert.equal(reply.headers.get('x-svc-billing-mode'), 'developer')
    assert.equal(reply.headers.get('x-svc-upstream-model'), 'eleven_flash_v2_5')
    assert.deepEqual(await balanceOf(gateway, account_id), { posted: 10_000_000n - cost, held: 0n })
    const [row] = await usageOf(gateway, key_id)
    assert.equal(row?.credits_used, cost)
    const id = reply.headers.get('x-svc-generation-id')
    const receipt = await gateway.request({ url: `/v1/generations/${id}`, headers: bearer })
    assert.equal(receipt.json<{ credits_used: number }>().credits_used, Number(cost))
  })

  test('comes in every format that can be served, at the rate that clients play it at', async () => {
    const { client } = await customer()
    for (const [format, type, start] of [
      ['wav', 'audio/wav', 'RIFF'],
      ['opus', 'audio/ogg', 'OggS'],
      ['pcm', 'audio/pcm', undefined],
    ] as const) {
      const speech = { model: FLASH, voice: 'nova', input: 'Hello', response_format: format }
      const reply = await client.audio.speech.create(speech)
      const bytes = Buffer.from(await reply.arrayBuffer())
      assert.equal(reply.headers.get('content-type'), type)
      if (start) assert.equal(bytes.toString('latin1', 0, 4), start)
      if (format === 'wav') assert.equal(bytes.readUInt32LE(24), 24_000)
    }
  })

  test('comes as events, with its numbers in the last one', async () => {
    const { post } = await customer()
    const body = {
      model: FLASH,
      voice: 'alloy',
      input: 'Hello',
      stream_format: 'sse',
      instructions: 'Whisper',
    }
    const reply = await post('/v1/audio/speech', body)
    assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.equal(reply.headers.get('x-svc-ignored-fields'), 'instructions')
    const events = (await reply.text()).split('\n\n').filter(Boolean)
    const records = events.map((event) => JSON.parse(event.replace(/^data: /, '')))
    const last = records.pop()
    assert.ok(records.length > 0)
    for (const record of records) assert.equal(record.type, 'speech.audio.delta')
    const bytes = Buffer.concat(records.map(({ audio }) => Buffer.from(audio, 'base64')))
    assert.deepEqual([...bytes.subarray(0, 2)], [0xff, 0xfb])
    assert.equal(last.type, 'speech.audio.done')
    assert.equal(last.svc.credits_used, Number(5n * PRICE.character))
  })

  test('that the provider does not give costs nothing', async () => {
    const { post, account_id } = await customer()
    for (const [directive, status, code] of [
      ['429', 429, 'provider_rate_limited'],
      ['overloaded', 503, 'provider_unavailable'],
      ['hangup', 503, 'provider_unavailable'],
      ['blocked', 400, 'content_filtered'],
    ] as const) {
      const input = `[[sandbox:${directive}]] Hello`
      const reply = await post('/v1/audio/speech', { model: FLASH, voice: 'alloy', input })
      const body: unknown = await reply.json().catch(() => undefined)
      assert.equal(reply.status, status, `${directive}: ${JSON.stringify(body)}`)
      assert.equal((body as { error: { code: string } }).error.code, code)
    }
    assert.equal((await balanceOf(gateway, account_id)).held, 0n)
  })

  test('that its client leaves is paid for: the provider has made it', async () => {
    const { account_id, client, key_id } = await customer()
    const input = '[[sandbox:pace=20]] '.padEnd(4_000, 'word ')
    const leaving = new AbortController()
    const reply = await client.audio.speech.create(
      { model: FLASH, voice: 'alloy', input },
      { signal: leaving.signal },
    )
    const reader = reply.body?.getReader()
    await reader?.read()
    leaving.abort()
    await eventually('it is charged', async () => (await usageOf(gateway, key_id)).length === 1)
    const cost = 4_000n * PRICE.character
    assert.deepEqual(await balanceOf(gateway, account_id), { posted: 10_000_000n - cost, held: 0n })
  })
})

test('speech that the provider breaks off is cut, not ended, so that nobody takes a part for the whole', async () => {
  const { post, account_id } = await customer()
  const input = '[[sandbox:cut]] '.padEnd(1_000, 'word ')
  const reply = await post('/v1/audio/speech', { model: FLASH, voice: 'alloy', input })
  assert.equal(reply.status, 200)
  await assert.rejects(reply.arrayBuffer())
  const as_events = { model: FLASH, voice: 'alloy', input, stream_format: 'sse' }
  const told = await (await post('/v1/audio/speech', as_events)).text()
  assert.match(told, /"error":\{"code":"provider_unavailable"/)
  assert.doesNotMatch(told, /speech\.audio\.done/)
  const cost = 2n * 1_000n * PRICE.character
  assert.deepEqual(await balanceOf(gateway, account_id), { posted: 10_000_000n - cost, held: 0n })
})

test('a linked user pays for audio with the markup, and nobody else does', async () => {
  const developer = await gateway.register()
  const user = await gateway.register()
  await grant(gateway.database_url, user.user_id, 1_000_000n)
  const app = await createOAuthApp(gateway, developer, { markup_percent: 50 })
  await connectHosted(gateway, { app, user, external_user_id: 'seat' })
  const { key } = await gateway.createKey(developer.bearer, { billing_mode: 'user' })
  const call = (path: string, body: object | FormData) =>
    fetch(`${gateway.url}/v1/users/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    })
  const speech = await call('seat/audio/speech', { model: FLASH, voice: 'alloy', input: 'Hello' })
  assert.equal(speech.headers.get('x-svc-credits-used'), '375')
  assert.equal(speech.headers.get('x-svc-billing-mode'), 'user')
  await speech.arrayBuffer()
  const sound = await call('seat/audio/sound-effects', { model: SOUND, input: 'Rain' })
  assert.equal(sound.headers.get('x-svc-credits-used'), '180000')
  await sound.arrayBuffer()
  const heard = await call('seat/audio/transcriptions', form({ model: SCRIBE }, audio(36)))
  assert.equal(heard.headers.get('x-svc-credits-used'), '3300')
  assert.equal(
    (await balanceOf(gateway, user.user_id)).posted,
    1_000_000n - 375n - 180_000n - 3_300n,
  )
  assert.equal((await balanceOf(gateway, developer.user_id)).posted, 0n)
  const stranger = await call('nobody/audio/speech', { model: FLASH, voice: 'alloy', input: 'Hi' })
  assert.equal(stranger.status, 404)
})

test('a sound costs the same however long it is', async () => {
  const { post } = await customer()
  const body = { model: SOUND, input: 'Rain on a tin roof', seconds: 2, response_format: 'mp3' }
  const reply = await post('/v1/audio/sound-effects', body)
  assert.equal(reply.status, 200)
  assert.equal(reply.headers.get('x-svc-credits-used'), String(PRICE.sound))
  assert.ok((await reply.arrayBuffer()).byteLength > 1_000)
})

describe('a transcript', () => {
  const cost = (seconds: number) => {
    const ms = BigInt(Math.ceil(seconds * 1000))
    return (ms * PRICE.hour + 3_599_999n) / 3_600_000n
  }

  test('costs the time that was heard, in every format', async () => {
    const { client, account_id } = await customer()
    const file = new File([wav(3)], 'speech.wav')
    const json = await client.audio.transcriptions.create({ file, model: SCRIBE })
    assert.ok(json.text.length > 0)
    const { svc } = json as typeof json & { svc: { credits_used: number } }
    assert.equal(BigInt(svc.credits_used), cost(3))
    const verbose = await client.audio.transcriptions.create({
      file,
      model: SCRIBE,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    assert.equal(verbose.duration, 3)
    assert.equal(verbose.words?.length, json.text.split(' ').length)
    assert.ok((verbose.segments?.length ?? 0) > 0)
    const srt = await client.audio.transcriptions.create({
      file,
      model: SCRIBE,
      response_format: 'srt',
    })
    assert.match(srt, /^1\n00:00:00,000 --> 00:00:0\d,\d{3}\n\S/)
    const vtt = await client.audio.transcriptions.create({
      file,
      model: SCRIBE,
      response_format: 'vtt',
    })
    assert.match(vtt, /^WEBVTT\n\n00:00:00\.000 --> /)
    const text = await client.audio.transcriptions.create({
      file,
      model: SCRIBE,
      response_format: 'text',
    })
    assert.equal(text.trim(), json.text)
    const { posted, held } = await balanceOf(gateway, account_id)
    assert.deepEqual([posted, held], [10_000_000n - 5n * cost(3), 0n])
  })

  test('comes as a stream, for a client that wants one', async () => {
    const { client } = await customer()
    const file = new File([wav(2)], 'speech.wav')
    const stream = await client.audio.transcriptions.create({ file, model: SCRIBE, stream: true })
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    assert.deepEqual(types, ['transcript.text.delta', 'transcript.text.done'])
  })

  test('is refused before the provider hears it, where the wallet cannot pay for its length', async () => {
    const { upload, account_id } = await customer(1_000n)
    const reply = await upload(form({ model: SCRIBE }, audio(60)))
    assert.equal(reply.status, 402)
    assert.deepEqual(await balanceOf(gateway, account_id), { posted: 1_000n, held: 0n })
    assert.equal((await upload(form({ model: SCRIBE }, audio(2)))).status, 200)
  })
})

describe('what cannot be served is a 4xx with a hint, and charges nothing:', () => {
  const speech = { model: FLASH, voice: 'alloy', input: 'Hello' }
  const bodies: [string, string, object, number][] = [
    ['an unknown model', '/v1/audio/speech', { ...speech, model: 'elevenlabs/none' }, 404],
    ['a chat model', '/v1/audio/speech', { ...speech, model: 'gpt-4o' }, 404],
    ['an unknown voice', '/v1/audio/speech', { ...speech, voice: 'nobody' }, 400],
    ['a voice that is a path', '/v1/audio/speech', { ...speech, voice: '../../v1/user' }, 400],
    ['no voice', '/v1/audio/speech', { model: FLASH, input: 'Hello' }, 400],
    ['no text', '/v1/audio/speech', { ...speech, input: '  ' }, 400],
    ['text that is too long', '/v1/audio/speech', { ...speech, input: 'a'.repeat(40_001) }, 400],
    ['a speed out of range', '/v1/audio/speech', { ...speech, speed: 4 }, 400],
    ['a format nobody makes', '/v1/audio/speech', { ...speech, response_format: 'flac' }, 400],
    [
      'a sound of a minute',
      '/v1/audio/sound-effects',
      { model: SOUND, input: 'x', seconds: 60 },
      400,
    ],
  ]
  const uploads: [string, FormData | string, number, Record<string, string>?][] = [
    ['no file', form({ model: SCRIBE }), 400],
    ['no model', form({}, audio(1)), 400],
    ['an empty file', form({ model: SCRIBE }, new Blob([])), 400],
    ['a picture', form({ model: SCRIBE }, new Blob([pixel()]), 'a.png'), 400],
    ['a file of 26 MB', form({ model: SCRIBE }, new Blob([new Uint8Array(26 * 1024 * 1024)])), 413],
    ['a wrong language', form({ model: SCRIBE, language: 'english' }, audio(1)), 400],
    ['a wrong format', form({ model: SCRIBE, response_format: 'docx' }, audio(1)), 400],
    [
      'a form that is cut off',
      '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
      400,
      { 'content-type': 'multipart/form-data; boundary=x' },
    ],
    [
      'another file that is cut off',
      '--x\r\ncontent-disposition: form-data; name="other"; filename="a"\r\n\r\nabc',
      400,
      { 'content-type': 'multipart/form-data; boundary=x' },
    ],
    ['a form without a boundary', 'abc', 400, { 'content-type': 'multipart/form-data' }],
    ['JSON', '{}', 415, { 'content-type': 'application/json' }],
  ]
  for (const [what, path, body, status] of bodies) {
    test(what, async () => {
      const { post, account_id } = await customer()
      await assertRefused(await post(path, body), status)
      assert.deepEqual(await balanceOf(gateway, account_id), { posted: 10_000_000n, held: 0n })
    })
  }
  for (const [what, body, status, headers] of uploads) {
    test(`an upload of ${what}`, async () => {
      const { upload, account_id } = await customer()
      await assertRefused(await upload(body, headers), status)
      assert.deepEqual(await balanceOf(gateway, account_id), { posted: 10_000_000n, held: 0n })
    })
  }
})

describe('who leaves before anything has come', () => {
  const SLOW = '[[sandbox:slow=1500]]'
  const seconds = 36

  /** The call is given up while the provider is at work. */
  async function leave(path: string, body: (key: string) => RequestInit) {
    const { account_id, newKey } = await customer()
    const { key, id: key_id } = await newKey()
    const signal = AbortSignal.timeout(400)
    await assert.rejects(fetch(`${gateway.url}${path}`, { method: 'POST', ...body(key), signal }))
    await eventually('it is charged', async () => (await usageOf(gateway, key_id)).length === 1)
    const [row] = await usageOf(gateway, key_id)
    const { held } = await balanceOf(gateway, account_id)
    assert.equal(held, 0n)
    return row
  }
  const say = (key: string) => ({
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: FLASH, voice: 'alloy', input: SLOW }),
  })
  const hear = (key: string) => ({
    headers: { authorization: `Bearer ${key}` },
    body: form({ model: SCRIBE }, audio(seconds), `${SLOW}.wav`),
  })

  test('pays what the provider has done for nobody', async () => {
    const speech = await leave('/v1/audio/speech', say)
    assert.equal(speech?.credits_used, BigInt(SLOW.length) * PRICE.character)
    const transcript = await leave('/v1/audio/transcriptions', hear)
    assert.deepEqual([transcript?.credits_used, transcript?.estimated], [2_200n, false])
  })

  test('pays for it too where it is stopped, because too many are read to their end already', async () => {
    gateway.parts.drains.open += 200
    try {
      const speech = await leave('/v1/audio/speech', say)
      assert.equal(speech?.credits_used, BigInt(SLOW.length) * PRICE.character)
      const transcript = await leave('/v1/audio/transcriptions', hear)
      for (const row of [speech, transcript]) {
        assert.deepEqual([row?.estimated, row?.outcome], [true, 'client_left'])
      }
      // What was held: a second more than the file says.
      assert.equal(transcript?.credits_used, 2_262n)
    } finally {
      gateway.parts.drains.open -= 200
    }
  })
})

test('a transcript whose length the provider does not say is charged by its last word, at most what was held', async () => {
  const { upload, key_id, account_id } = await customer(700n)
  const reply = await upload(form({ model: SCRIBE }, audio(10), '[[sandbox:no_usage]].wav'))
  assert.equal(reply.status, 200)
  const [row] = await usageOf(gateway, key_id)
  assert.equal(row?.estimated, true)
  assert.equal(row.shortfall_credits, 0n)
  assert.equal((await balanceOf(gateway, account_id)).held, 0n)
})

test('a transcript may take as long as any answer in one piece', async () => {
  const hasty = await startGateway({ PROVIDER_TIMEOUT_MS: '300' })
  const { key } = await (await hasty.customer(10_000n)).newKey()
  const reply = await fetch(`${hasty.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form({ model: SCRIBE }, audio(1), '[[sandbox:slow=2500]].wav'),
  })
  assert.equal(reply.status, 200, await reply.text())
  await hasty.close()
})

test('what an audio call ignores stands in its record', async () => {
  const { post, upload, key_id } = await customer()
  const speech = { model: FLASH, voice: 'alloy', input: 'Hello', instructions: 'Whisper' }
  await (await post('/v1/audio/speech', speech)).arrayBuffer()
  await upload(form({ model: SCRIBE, prompt: 'Names' }, audio(1)))
  const rows = await sql<{ details: unknown }>(
    gateway.database_url,
    'select details from usage_event where key_id = $1 order by endpoint',
    [key_id],
  )
  assert.deepEqual(
    rows.map(({ details }) => details),
    [{ ignored_fields: ['instructions'] }, { ignored_fields: ['prompt'] }],
  )
})

test('a file needs no name', async () => {
  const { upload } = await customer()
  const headers =
    'content-disposition: form-data; name="file"\r\ncontent-type: application/octet-stream'
  const model = `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\n${SCRIBE}\r\n`
  const body = Buffer.concat([
    Buffer.from(`${model}--x\r\n${headers}\r\n\r\n`),
    wav(1),
    Buffer.from('\r\n--x--\r\n'),
  ])
  const content_type = { 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await upload(new Blob([body]), content_type)
  assert.equal(reply.status, 200, await reply.text())
})

test('the voices are listed with the names that OpenAI’s clients know', async () => {
  const { newKey } = await customer()
  const { key } = await newKey()
  const reply = await fetch(`${gateway.url}/v1/audio/voices`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { data } = (await reply.json()) as { data: { id: string; aliases: string[] }[] }
  assert.ok(data.length > 0)
  assert.ok(data.flatMap(({ aliases }) => aliases).includes('alloy'))
})

test('the books are right after all this', async () => {
  await assertBooksClosed(gateway)
})

async function assertRefused(reply: Response, status: number): Promise<void> {
  const { error } = (await reply.json()) as {
    error: { code: string; message: string; hint?: string }
  }
  assert.equal(reply.status, status, JSON.stringify(error))
  assert.ok(error.code.length > 0 && error.message.length > 0)
}

function pixel(): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
  )
}
