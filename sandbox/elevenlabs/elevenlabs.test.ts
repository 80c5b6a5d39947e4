import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listOf, wordList } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import { dig, digNumber, digText, get, keysOf, post, readAnswer } from '../test-client.ts'

const KEY = { 'xi-api-key': 'sk_test' }
const VOICE = '21m00Tcm4TlvDq8ikWAM'
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function speak(body: object, path = VOICE, headers: Record<string, string> = KEY) {
  const response = await fetch(`${sandbox.urls.elevenlabs}/v1/text-to-speech/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}

async function refuse(body: object, path = VOICE, headers: Record<string, string> = KEY) {
  return await post(`${sandbox.urls.elevenlabs}/v1/text-to-speech/${path}`, headers, body)
}

async function transcribe(
  fields: Record<string, string>,
  file?: File,
  headers: Record<string, string> = KEY,
) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  if (file !== undefined) form.set('file', file)
  const url = `${sandbox.urls.elevenlabs}/v1/speech-to-text`
  return await readAnswer(await fetch(url, { method: 'POST', headers, body: form }))
}

function sound(seconds: number, name = 'sound.mp3', text = ''): File {
  return new File([new Uint8Array(seconds * 16_000 - text.length), text], name)
}

test('speech is audio whose characters are counted in a header', async () => {
  const text = 'Hello 🙂 world'
  const { status, headers, bytes } = await speak({ text })
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'audio/mpeg')
  assert.equal(headers.get('character-cost'), '13')
  assert.match(headers.get('request-id') ?? '', /^\w{20}$/)
  assert.deepEqual([...bytes.subarray(0, 2)], [0xff, 0xfb])
  const frames = bytes.length / 417
  assert.ok(Number.isInteger(frames))
  assert.ok(Math.abs((frames * 1_152) / 44_100 - 13 / 15) < 0.05)
  const flash = await speak({ text, model_id: 'eleven_flash_v2_5' })
  assert.equal(flash.headers.get('character-cost'), '7')
})

test('streamed speech is the same audio in chunks', async () => {
  const text = 'A longer text that is spoken for a while. '.repeat(5)
  const whole = await speak({ text })
  const streamed = await speak({ text }, `${VOICE}/stream`)
  assert.equal(streamed.headers.get('transfer-encoding'), 'chunked')
  assert.ok(streamed.bytes.equals(whole.bytes))
})

const FORMATS: readonly [name: string, type: string, magic: string, rate_bytes: number][] = [
  ['mp3_22050_32', 'audio/mpeg', '\xff\xf3', 4_000],
  ['mp3_44100_192', 'audio/mpeg', '\xff\xfb', 24_000],
  ['pcm_24000', 'audio/pcm', '\0\0', 48_000],
  ['wav_24000', 'audio/wav', 'RIFF', 48_000],
  ['ulaw_8000', 'audio/basic', '\xff', 8_000],
  ['alaw_8000', 'audio/basic', '\xd5', 8_000],
]

for (const [name, type, magic, rate_bytes] of FORMATS) {
  test(`speech as ${name} has its type, its beginning and its length`, async () => {
    const { headers, bytes } = await speak(
      { text: '[[sandbox:seconds=2]]' },
      `${VOICE}?output_format=${name}`,
    )
    assert.equal(headers.get('content-type'), type)
    assert.equal(bytes.toString('latin1', 0, magic.length), magic)
    assert.ok(Math.abs(bytes.length - 2 * rate_bytes) < rate_bytes / 10, String(bytes.length))
  })
}

test('speech as opus is an Ogg stream of as many seconds as it should be', async () => {
  const { headers, bytes } = await speak(
    { text: '[[sandbox:seconds=3]]' },
    `${VOICE}?output_format=opus_48000_128`,
  )
  assert.equal(headers.get('content-type'), 'audio/ogg')
  assert.equal(bytes.toString('latin1', 0, 4), 'OggS')
  assert.ok(bytes.includes('OpusHead'))
  const last = bytes.lastIndexOf('OggS')
  assert.equal(bytes.readBigInt64LE(last + 6), 144_000n)
  assert.equal(bytes.readUInt8(last + 5), 4)
})

test('speech with timestamps aligns every character', async () => {
  const { body } = await refuse({ text: 'Hey' }, `${VOICE}/with-timestamps`)
  assert.deepEqual(keysOf(body), ['audio_base64', 'alignment', 'normalized_alignment'])
  assert.deepEqual(dig(body, 'alignment.characters'), ['H', 'e', 'y'])
  assert.equal(dig(body, 'alignment.character_start_times_seconds.0'), 0)
  assert.equal(dig(body, 'alignment.character_end_times_seconds.2'), 0.2)
})

test('a transcript has words with times and the length of the sound', async () => {
  const { status, body } = await transcribe({ model_id: 'scribe_v1' }, sound(6))
  assert.equal(status, 200)
  const keys = 'language_code language_probability text words transcription_id audio_duration_secs'
  assert.deepEqual(keysOf(body), wordList(keys))
  assert.equal(dig(body, 'audio_duration_secs'), 6)
  const words = listOf(dig(body, 'words'))
  assert.equal(words.map((word) => dig(word, 'text')).join(''), dig(body, 'text'))
  assert.deepEqual(
    words.slice(0, 2).map((word) => dig(word, 'type')),
    ['word', 'spacing'],
  )
  assert.ok(digNumber(words.at(-1), 'end') <= 6)
  const again = await transcribe({ model_id: 'scribe_v1' }, sound(6))
  assert.equal(dig(again.body, 'text'), dig(body, 'text'))
})

test('the length comes from a WAV header or a test prompt in the name or the bytes', async () => {
  const wav = await speak({ text: '[[sandbox:seconds=4]]' }, `${VOICE}?output_format=wav_16000`)
  const measured = await transcribe(
    { model_id: 'scribe_v2' },
    new File([new Uint8Array(wav.bytes)], 'a.wav'),
  )
  assert.equal(dig(measured.body, 'audio_duration_secs'), 4)
  const named = await transcribe({ model_id: 'scribe_v2' }, sound(1, '[[sandbox:seconds=90]].mp3'))
  assert.equal(dig(named.body, 'audio_duration_secs'), 90)
  const inside = await transcribe(
    { model_id: 'scribe_v2' },
    sound(1, 'a.mp3', '[[sandbox:seconds=7.5]]'),
  )
  assert.equal(dig(inside.body, 'audio_duration_secs'), 7.5)
  const unknown = await transcribe(
    { model_id: 'scribe_v2' },
    sound(2, 'a.mp3', '[[sandbox:no_usage]]'),
  )
  assert.equal(dig(unknown.body, 'audio_duration_secs'), null)
  assert.ok(digNumber(listOf(dig(unknown.body, 'words')).at(-1), 'end') > 1)
})

test('sound effects last as long as they are asked to', async () => {
  const url = `${sandbox.urls.elevenlabs}/v1/sound-generation?output_format=pcm_16000`
  const response = await fetch(url, {
    method: 'POST',
    headers: KEY,
    body: JSON.stringify({ text: 'Rain', duration_seconds: 2 }),
  })
  assert.equal((await response.arrayBuffer()).byteLength, 64_000)
  const long = await post(url, KEY, { text: 'Rain', duration_seconds: 99 })
  assert.equal(long.status, 400)
})

test('voices and models are listed', async () => {
  for (const version of ['v1', 'v2']) {
    const { body } = await get(`${sandbox.urls.elevenlabs}/${version}/voices`, KEY)
    const ids = listOf(dig(body, 'voices')).map((voice) => dig(voice, 'voice_id'))
    assert.ok(ids.includes(VOICE))
  }
  const one = await get(`${sandbox.urls.elevenlabs}/v1/voices/${VOICE}`, KEY)
  assert.equal(dig(one.body, 'name'), 'Rachel')
  const models = await get(`${sandbox.urls.elevenlabs}/v1/models`, KEY)
  assert.ok(
    listOf(models.body).some((model) => dig(model, 'model_id') === 'eleven_multilingual_v2'),
  )
})

test('the body is validated before the key, and the key before everything else', async () => {
  const unfit = await refuse({}, VOICE, {})
  assert.equal(unfit.status, 422)
  assert.deepEqual(dig(unfit.body, 'detail.0.loc'), ['body', 'text'])
  const missing = await refuse({ text: 'Hi' }, VOICE, {})
  assert.equal(missing.status, 401)
  assert.equal(dig(missing.body, 'detail.status'), 'needs_authorization')
  const wrong = await refuse({ text: 'Hi' }, VOICE, { 'xi-api-key': 'invalid' })
  assert.equal(dig(wrong.body, 'detail.code'), 'invalid_api_key')
  const form = await transcribe({}, sound(1), {})
  assert.equal(form.status, 422)
  assert.deepEqual(dig(form.body, 'detail.0.loc'), ['body', 'model_id'])
})

const REFUSALS: readonly [
  name: string,
  body: object,
  path: string,
  status: number,
  code: string,
][] = [
  ['an unknown voice', { text: 'Hi' }, 'foo', 404, 'voice_not_found'],
  ['an unknown model', { text: 'Hi', model_id: 'eleven_x' }, VOICE, 404, 'model_not_found'],
  [
    'a model for transcripts',
    { text: 'Hi', model_id: 'scribe_v1' },
    VOICE,
    400,
    'unsupported_model',
  ],
  ['an empty text', { text: ' ' }, VOICE, 400, 'empty_text'],
  ['a long text', { text: 'a'.repeat(10_001) }, VOICE, 400, 'text_too_long'],
  [
    'a fast voice',
    { text: 'Hi', voice_settings: { speed: 2 } },
    VOICE,
    400,
    'invalid_voice_settings',
  ],
  [
    'an unknown format',
    { text: 'Hi' },
    `${VOICE}?output_format=flac`,
    400,
    'invalid_output_format',
  ],
  [
    'a language for the multilingual model',
    { text: 'Hi', language_code: 'de' },
    VOICE,
    400,
    'unsupported_language',
  ],
  ['a misspelt test prompt', { text: '[[sandbox:oops]]' }, VOICE, 400, 'invalid_text'],
]

for (const [name, body, path, status, code] of REFUSALS) {
  test(`${name} is refused with the error of ElevenLabs`, async () => {
    const answer = await refuse(body, path)
    assert.equal(answer.status, status, answer.text)
    assert.equal(dig(answer.body, 'detail.code'), code)
    assert.equal(dig(answer.body, 'detail.request_id'), answer.headers.get('request-id'))
    assert.ok(digText(answer.body, 'detail.message').length > 0)
  })
}

test('a transcript needs a known model and some sound', async () => {
  const code = async (fields: Record<string, string>, file?: File) => {
    return dig((await transcribe(fields, file)).body, 'detail.code')
  }
  assert.equal(await code({ model_id: 'whisper-1' }, sound(1)), 'unsupported_model')
  assert.equal(await code({ model_id: 'scribe_v1' }), 'invalid_request')
  assert.equal(await code({ model_id: 'scribe_v1' }, new File([], 'a.mp3')), 'invalid_audio')
  assert.equal(await code({ model_id: 'scribe_v1' }, new File(['xx'], 'a.mp3')), 'audio_too_short')
})

const FAULTS: readonly [prompt: string, status: number, code: string][] = [
  ['401', 401, 'invalid_api_key'],
  ['404', 404, 'model_not_found'],
  ['429', 429, 'concurrent_limit_exceeded'],
  ['500', 500, 'internal_error'],
  ['overloaded', 503, 'service_unavailable'],
  ['quota', 401, 'quota_exceeded'],
  ['blocked', 403, 'content_against_policy'],
  ['content_filter', 403, 'content_against_policy'],
  ['refusal', 403, 'content_against_policy'],
  ['too_long', 400, 'text_too_long'],
  ['unverified', 403, 'subscription_required'],
]

for (const [prompt, status, code] of FAULTS) {
  test(`[[sandbox:${prompt}]] gives the ${status} of ElevenLabs`, async () => {
    const answer = await refuse({ text: `Go [[sandbox:${prompt}]]` }, `${VOICE}/stream`)
    assert.equal(answer.status, status)
    assert.equal(dig(answer.body, 'detail.code'), code)
  })
}

test('speech can break off half way', async () => {
  await assert.rejects(speak({ text: `${'word '.repeat(200)} [[sandbox:cut]]` }, `${VOICE}/stream`))
})
