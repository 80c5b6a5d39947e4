// Every receipt adds up: its lines, rounded up once, are the cost, whatever kind of model was called.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wav } from '../support/sound.ts'
import { openDesk, type Person } from './support.ts'

const desk = await openDesk()

type Line = { bucket: string; unit: string; tokens: number; price: number; millionths: number }
type Generation = {
  credits_used: number
  receipt: { lines: Line[]; millionths: number; cost_credits: number; credits_used: number }
}
type Reply = { statusCode: number; body: string; headers: Record<string, unknown> }

async function readReceipt(person: Person, reply: Reply) {
  assert.equal(reply.statusCode, 200, reply.body)
  const id = String(reply.headers['x-svc-generation-id'])
  const found = await desk.read<Generation>(`/v1/generations/${id}`, person.bearer)
  const { receipt } = found
  const sum = receipt.lines.reduce((total, line) => total + line.millionths, 0)
  assert.ok(sum > 0, reply.body)
  assert.equal(sum, receipt.millionths)
  assert.equal(Math.ceil(sum / 1_000_000), receipt.cost_credits)
  assert.equal(receipt.credits_used, found.credits_used)
  return receipt.lines.filter(({ tokens }) => tokens > 0)
}

test('a call of an audio model is one line: characters, milliseconds or sounds times their price', async () => {
  const person = await desk.register()
  const post = (path: string, body: object) =>
    desk.post(`/account/playground/audio/${path}`, body, person.bearer)
  const speech = { model: 'elevenlabs/eleven_flash_v2_5', voice: 'alloy', input: 'Good day' }
  assert.deepEqual(await readReceipt(person, await post('speech', speech)), [
    {
      bucket: 'characters',
      unit: 'character',
      tokens: 8,
      price: 50_000_000,
      millionths: 400_000_000,
    },
  ])
  const sound = { model: 'elevenlabs/eleven_text_to_sound_v2', input: 'Rain' }
  const [made] = await readReceipt(person, await post('sound-effects', sound))
  assert.deepEqual([made?.bucket, made?.unit, made?.tokens], ['sounds', 'generation', 1])
  const upload = new FormData()
  upload.set('file', new Blob([wav(7)], { type: 'audio/wav' }), 'a.wav')
  upload.set('model', 'elevenlabs/scribe_v1')
  const encoded = new Response(upload)
  const heard = await desk.request({
    method: 'POST',
    url: '/account/playground/audio/transcriptions',
    headers: { ...person.bearer, 'content-type': encoded.headers.get('content-type') ?? '' },
    payload: Buffer.from(await encoded.arrayBuffer()),
  })
  const [line] = await readReceipt(person, heard)
  assert.deepEqual([line?.bucket, line?.unit], ['milliseconds', 'hour'])
  assert.ok(line && line.tokens >= 7_000 && line.tokens < 8_000)
})

test('sound in a prompt is a line of its own, at its own price', async () => {
  const person = await desk.register()
  const content = [
    { type: 'text', text: 'What is said here? [[sandbox:tokens=20]]' },
    { type: 'input_audio', input_audio: { format: 'mp3', data: 'AAAA'.repeat(40_000) } },
  ]
  const reply = await desk.post(
    '/account/playground/chat/completions',
    { model: 'google/gemini-2.5-flash', max_tokens: 100, messages: [{ role: 'user', content }] },
    person.bearer,
  )
  const lines = await readReceipt(person, reply)
  const prices = new Map(lines.map(({ bucket, price }) => [bucket, price]))
  assert.equal(prices.get('input'), 300_000)
  assert.equal(prices.get('audio_input'), 1_000_000)
  assert.ok(lines.every(({ tokens, price, millionths }) => tokens * price === millionths))
})

test('calls of every chat model add up', async () => {
  const person = await desk.register()
  const { data } = await desk.read<{
    data: { id: string; pricing: { unit: string }; modalities: { output: string[] } }[]
  }>('/v1/models', {})
  const names = data
    .filter(({ pricing, modalities }) => {
      return pricing.unit === 'token' && modalities.output.includes('text')
    })
    .map(({ id }) => id)
  assert.ok(names.length > 5)
  for (const model of names) {
    const messages = [{ role: 'user', content: '[[sandbox:tokens=30]] hello' }]
    const body = { model, max_tokens: 200, messages }
    const reply = await desk.post('/account/playground/chat/completions', body, person.bearer)
    const lines = await readReceipt(person, reply)
    assert.ok(lines.some(({ bucket }) => bucket === 'output'))
  }
})
