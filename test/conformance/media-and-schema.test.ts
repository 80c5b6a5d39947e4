// Images into every model, and answers that fit a schema out of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCaller, PATHS, type Path, type Provider } from '../support/gateway-caller.ts'
import type { Reply } from '../support/gateway-formats.ts'

const gateway = await openCaller()

/** One transparent pixel. */
const PIXEL = {
  media_type: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
}

/** What docs/sandbox.md says that an image costs: gpt-4o-mini, gpt-5-mini, Claude, Gemini. */
const IMAGE_TOKENS: Readonly<Record<Provider, number>> = {
  openai: 25_501,
  responses: 765,
  anthropic: 1_600,
  google: 258,
}

function sentImage({ provider }: Path): unknown {
  const body = gateway.requests().at(-1)?.body as {
    messages: { content: Record<string, unknown>[] }[]
    contents: { parts: Record<string, unknown>[] }[]
    input: { content: Record<string, unknown>[] }[]
  }
  switch (provider) {
    case 'openai':
      return body.messages.at(-1)?.content.find(({ type }) => type === 'image_url')?.['image_url']
    case 'responses':
      return body.input.at(-1)?.content.find(({ type }) => type === 'input_image')
    case 'anthropic':
      return body.messages.at(-1)?.content.find(({ type }) => type === 'image')?.['source']
    case 'google':
      return body.contents.at(-1)?.parts.find((part) => part['inlineData'])?.['inlineData']
  }
}

const { media_type, data } = PIXEL
const EXPECTED_IMAGE: Readonly<Record<Provider, unknown>> = {
  openai: { url: `data:${media_type};base64,${data}` },
  responses: {
    type: 'input_image',
    image_url: `data:${media_type};base64,${data}`,
    detail: 'auto',
  },
  anthropic: { type: 'base64', media_type, data },
  google: { mimeType: media_type, data },
}

const SCHEMA = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    score: { type: 'integer', minimum: 0, maximum: 10 },
    tags: { type: 'array', items: { type: 'string', enum: ['red', 'green'] }, minItems: 1 },
  },
  required: ['title', 'score', 'tags'],
  additionalProperties: false,
}

function checkFits(text: string): void {
  const value = JSON.parse(text) as { title: unknown; score: number; tags: string[] }
  assert.deepEqual(Object.keys(value).sort(), ['score', 'tags', 'title'])
  assert.equal(typeof value.title, 'string')
  assert.ok(Number.isInteger(value.score) && value.score >= 0 && value.score <= 10)
  assert.ok(value.tags.length >= 1)
  assert.ok(value.tags.every((tag) => tag === 'red' || tag === 'green'))
}

for (const path of PATHS) {
  test(`${path.name}: an image reaches the model and is charged as the provider counts it`, async () => {
    const text = '[[sandbox:echo]] What is this?'
    const reply = await gateway.ask(path, { text, image: PIXEL })
    const sent = sentImage(path) as Record<string, unknown>
    assert.deepEqual({ ...sent }, EXPECTED_IMAGE[path.provider])
    assert.equal(reply.text, 'What is this?')
    const plain = await gateway.ask(path, { text })
    const promptOf = ({ tokens }: Reply) => tokens.input + tokens.cache_read
    const difference = promptOf(reply) - promptOf(plain)
    // One line break between text and image may cost a token more.
    assert.ok(
      Math.abs(difference - IMAGE_TOKENS[path.provider]) <= 1,
      `the image was counted as ${difference} tokens`,
    )
  })
}

// Claude Sonnet 4 has no structured output of its own: it is asked for through a tool.
for (const path of PATHS) {
  test(`${path.name}: structured output is JSON of the asked schema, and ends as text does`, async () => {
    const reply = await gateway.ask(path, { text: 'Describe it.', schema: SCHEMA })
    checkFits(reply.text)
    assert.deepEqual(reply.calls, [])
    assert.equal(reply.stop, path.format === 'openai' ? 'stop' : 'end_turn')
  })
}

test('an image by address goes to the provider as an address: the gateway never fetches it', async () => {
  const url = 'https://images.example/cat.png'
  const body = (content: unknown) => ({
    model: 'gpt-4o-mini',
    max_tokens: 50,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, content] }],
  })
  const openai = await gateway.post('openai', body({ type: 'image_url', image_url: { url } }))
  assert.equal(openai.statusCode, 200, openai.body)
  assert.match(
    JSON.stringify(gateway.requests().at(-1)?.body),
    /https:\/\/images\.example\/cat\.png/,
  )
  const block = { type: 'image', source: { type: 'url', url } }
  const anthropic = await gateway.post('anthropic', {
    ...body(block),
    model: 'anthropic/claude-sonnet-4',
  })
  assert.equal(anthropic.statusCode, 200, anthropic.body)
  assert.match(
    JSON.stringify(gateway.requests().at(-1)?.body),
    /https:\/\/images\.example\/cat\.png/,
  )
})

test('a model that cannot see says so before anybody is called, and nothing is charged', async () => {
  const [path] = PATHS
  assert.ok(path)
  const calls = gateway.requests().length
  const refused = await gateway.refusal(path, { model: 'gpt-4', text: 'Look.', image: PIXEL })
  assert.deepEqual([refused.status, refused.code], [400, 'bad_request'])
  assert.ok(refused.hint)
  assert.equal(gateway.requests().length, calls)
})
