// Text through every provider, in both client formats, whole and streamed: what was said arrives, in both
// directions, and nothing is lost between.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCaller, PATHS, PRICES, type Provider } from '../support/gateway-caller.ts'
import { FORMATS } from '../support/gateway-formats.ts'

const gateway = await openCaller()

type Received = { body: unknown; path: string }

type Blocks = string | { text?: string }[]
type ProviderBody = {
  input?: { role: string; content: Blocks }[]
  messages?: { role: string; content: Blocks }[]
  system?: Blocks
  systemInstruction?: { parts: { text: string }[] }
  contents?: { role: string; parts: { text: string }[] }[]
}

/** What the provider was told: its instructions and the turns, in its own words for the roles. */
function conversation(request: Received | undefined): { system: string; turns: string[] } {
  assert.ok(request)
  const body = request.body as ProviderBody
  const join = (blocks: Blocks | undefined) =>
    typeof blocks === 'string' ? blocks : (blocks ?? []).map((block) => block.text).join('')
  if (body.contents) {
    const turns = body.contents.map(({ role, parts }) => `${role}: ${join(parts)}`)
    return { system: join(body.systemInstruction?.parts), turns }
  }
  const messages = body.messages ?? body.input ?? []
  const instructs = ({ role }: { role: string }) => role === 'system' || role === 'developer'
  const instructions = messages.filter(instructs)
  const turns = messages.filter((message) => !instructs(message))
  return {
    system: join(body.system) + instructions.map(({ content }) => join(content)).join(''),
    turns: turns.map(({ role, content }) => `${role}: ${join(content)}`),
  }
}

const ASSISTANT: Readonly<Record<Provider, string>> = {
  openai: 'assistant',
  responses: 'assistant',
  anthropic: 'assistant',
  google: 'model',
}

for (const path of PATHS) {
  test(`${path.name}: the model's words arrive as it said them`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:echo]] The quick brown fox — 狐 🦊.' })
    assert.equal(reply.text, 'The quick brown fox — 狐 🦊.')
    assert.equal(reply.stop, path.format === 'openai' ? 'stop' : 'end_turn')
    assert.deepEqual([reply.calls, reply.refusal], [[], null])
    assert.ok(reply.id)
  })

  test(`${path.name}: instructions reach the provider in its own place for them`, async () => {
    const reply = await gateway.ask(path, { system: 'Be brief.', text: '[[sandbox:echo]] Hi.' })
    const { system, turns } = conversation(gateway.requests().at(-1))
    assert.equal(system, 'Be brief.')
    assert.deepEqual(turns, ['user: [[sandbox:echo]] Hi.'])
    assert.equal(reply.text, 'Hi.')
  })

  test(`${path.name}: a conversation reaches the provider turn by turn`, async () => {
    await gateway.ask(path, {
      before: [
        { role: 'user', text: 'One?' },
        { role: 'assistant', text: 'Two.' },
      ],
      text: 'Three?',
    })
    const { turns } = conversation(gateway.requests().at(-1))
    assert.deepEqual(turns, ['user: One?', `${ASSISTANT[path.provider]}: Two.`, 'user: Three?'])
  })

  test(`${path.name}: an answer torn into five bytes at a time is still whole`, async () => {
    const text = '[[sandbox:unicode]] Tell me something.'
    const whole = await gateway.ask({ ...path, stream: false }, { text })
    const torn = await gateway.ask(path, { text: `${text}[[sandbox:split]]` })
    assert.match(whole.text, /[^\p{ASCII}]/u)
    // The test prompt itself is part of the seed, so only the alphabet can be compared.
    assert.match(torn.text, /[^\p{ASCII}]/u)
    assert.doesNotMatch(torn.text, /\uFFFD/)
  })
}

for (const path of PATHS.filter(({ stream }) => stream)) {
  const { provider, format } = path
  test(`${provider} model, ${format} format: an answer is the same streamed and whole`, async () => {
    const question = { text: 'Tell me a story. [[sandbox:tokens=80]]' }
    const streamed = await gateway.ask(path, question)
    const whole = await gateway.ask({ ...path, stream: false }, question)
    assert.equal(streamed.text, whole.text)
    assert.equal(streamed.stop, whole.stop)
    assert.deepEqual(streamed.tokens, whole.tokens)
  })

  for (const way of ['crlf', 'comments', 'big_event=300000', 'pace=1', 'split']) {
    test(`${provider} model, ${format} format: a stream with ${way} reads like any other`, async () => {
      const text = `[[sandbox:echo]] Words, more words, and 字. [[sandbox:${way}]]`
      const reply = await gateway.ask(path, { text })
      assert.equal(reply.text, 'Words, more words, and 字.')
    })
  }
}

for (const model of Object.keys(PRICES)) {
  for (const format of FORMATS) {
    test(`${model} answers and charges its own price in the ${format} format`, async () => {
      const [whole, streamed] = PATHS.filter((path) => path.format === format)
      assert.ok(whole && streamed)
      const text = 'Go on. [[sandbox:tokens=30]]'
      const answers = [
        await gateway.ask(whole, { model, text }),
        await gateway.ask(streamed, { model, text }),
      ]
      for (const { text, tokens } of answers) {
        // A token of the stand-ins is four bytes at most, and the last one may be shorter.
        assert.equal(Math.ceil(text.length / 4), 30)
        assert.equal(tokens.output - tokens.reasoning, 30)
      }
    })
  }
}

test('a stream that was not asked for its usage has no usage in it', async () => {
  for (const { model } of PATHS.filter(({ format, stream }) => format === 'openai' && stream)) {
    const response = await gateway.post('openai', {
      model,
      messages: [{ role: 'user', content: 'Hello.' }],
      max_tokens: 500,
      stream: true,
    })
    assert.equal(response.statusCode, 200, response.body)
    assert.doesNotMatch(response.body, /"usage"/)
    assert.match(response.body, /\[DONE\]\n\ndata: \{"choices":\[\],"svc":\{[^\n]*\}\}\n\n$/)
  }
})

test('a stream says that it is one, and that no proxy may hold it back', async () => {
  for (const path of PATHS.filter(({ stream }) => stream)) {
    const { headers } = await gateway.putQuestion(path, { model: path.model, text: 'Hello.' })
    assert.match(String(headers['content-type']), /^text\/event-stream/)
    assert.match(String(headers['cache-control']), /no-cache/)
    assert.ok(headers['x-request-id'])
  }
})
