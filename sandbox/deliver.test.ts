import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Sandbox, startSandbox } from './main.ts'
import { dig, post, readEvents } from './test-client.ts'

const KEY = { authorization: 'Bearer sk-test', 'content-type': 'application/json' }
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

function body(prompt: string, streamed: boolean) {
  const messages = [{ role: 'user', content: `Hello ${prompt}` }]
  const options = streamed ? { stream: true, stream_options: { include_usage: true } } : {}
  return { model: 'gpt-4o', messages, ...options }
}

async function open(prompt: string, streamed: boolean, signal?: AbortSignal) {
  return await fetch(`${sandbox.urls.openai}/chat/completions`, {
    method: 'POST',
    headers: KEY,
    body: JSON.stringify(body(prompt, streamed)),
    ...(signal !== undefined && { signal }),
  })
}

/** Everything that arrived, whether or not the connection broke. */
async function drain(
  response: Response,
): Promise<{ text: string; broke: boolean; chunks: Buffer[] }> {
  const chunks: Buffer[] = []
  let broke = false
  try {
    for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk))
  } catch {
    broke = true
  }
  return { text: Buffer.concat(chunks).toString('utf8'), broke, chunks }
}

async function stream(prompt: string) {
  const arrived = await drain(await open(prompt, true))
  return { ...arrived, events: readEvents(arrived.text) }
}

const whole = async () => (await stream('')).events

test('a cut stream delivers half of its events and breaks', async () => {
  const { events, broke } = await stream('[[sandbox:cut]]')
  assert.ok(broke)
  const all = (await whole()).length
  assert.ok(events.length > 2 && events.length < all - 2)
  assert.ok(!events.some(({ data }) => data === '[DONE]'))
})

test('a stream can be cut after a number of events or after a kind of event', async () => {
  for (const [place, count] of [
    ['0', 0],
    ['3', 3],
    ['role', 1],
  ]) {
    const { events, broke } = await stream(`[[sandbox:cut_after=${place}]]`)
    assert.ok(broke, String(place))
    assert.equal(events.length, count)
  }
  const finished = await stream('[[sandbox:cut_after=finish]]')
  assert.equal(dig(finished.events.at(-1)?.body, 'choices.0.finish_reason'), 'stop')
  assert.ok(finished.broke)
  const counted = await stream('[[sandbox:cut_after=usage]]')
  assert.ok(dig(counted.events.at(-1)?.body, 'usage'))
})

test('a stream can end in good order without having finished', async () => {
  const { events, broke } = await stream('[[sandbox:end_after=4]]')
  assert.ok(!broke)
  assert.equal(events.length, 4)
})

test('an answer in one piece can be cut, too', async () => {
  const { text, broke } = await drain(await open('[[sandbox:cut]]', false))
  assert.ok(broke)
  assert.ok(text.startsWith('{"id":"chatcmpl-'))
  assert.throws(() => JSON.parse(text))
})

test('a connection can end before any answer', async () => {
  await assert.rejects(open('[[sandbox:hangup]]', true))
})

test('a stalled stream delivers half and then nothing, until the client leaves', async () => {
  const leave = new AbortController()
  const response = await open('[[sandbox:stall]]', true, leave.signal)
  const timer = setTimeout(() => leave.abort(), 300)
  const { text, broke } = await drain(response)
  clearTimeout(timer)
  assert.ok(broke && text.includes('"role":"assistant"'))
  assert.ok(!text.includes('[DONE]'))
})

test('a request that never answers ends when the client leaves', async () => {
  await assert.rejects(open('[[sandbox:timeout]]', false, AbortSignal.timeout(200)))
  await waitFor(() => sandbox.requests().at(-1)?.ending === 'client_left')
  assert.equal(sandbox.requests().at(-1)?.status, null)
})

test('slowness comes before the first byte, pace between events', async () => {
  const start = performance.now()
  await open('[[sandbox:slow=250]]', true)
  assert.ok(performance.now() - start >= 245)
  const paced = performance.now()
  const { events } = await stream('[[sandbox:pace=20]] [[sandbox:tokens=10]]')
  assert.ok(performance.now() - paced >= 20 * (events.length - 1))
})

test('an error in the middle of a stream is an event, and the stream ends there', async () => {
  const { events, broke } = await stream('[[sandbox:error_mid_stream]]')
  assert.ok(!broke)
  assert.equal(dig(events.at(-1)?.body, 'error.type'), 'server_error')
  assert.ok(dig(events.at(-2)?.body, 'choices'))
  const late = await stream('[[sandbox:error_mid_stream=finish]]')
  assert.equal(dig(late.events.at(-2)?.body, 'choices.0.finish_reason'), 'stop')
  const unstreamed = await open('[[sandbox:error_mid_stream]]', false)
  assert.equal(unstreamed.status, 500)
})

test('the errors of the other providers in mid-stream are theirs', async () => {
  const content = 'Go [[sandbox:error_mid_stream]]'
  const anthropic = await post(
    `${sandbox.urls.anthropic}/v1/messages`,
    { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    {
      model: 'claude-sonnet-4-20250514',
      max_tokens: 50,
      stream: true,
      messages: [{ role: 'user', content }],
    },
  )
  const last = readEvents(anthropic.text).at(-1)
  assert.equal(last?.event, 'error')
  assert.equal(dig(last?.body, 'type'), 'error')
  assert.equal(dig(last?.body, 'error.type'), 'overloaded_error')
  const google = await post(
    `${sandbox.urls.google}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`,
    { 'x-goog-api-key': 'k' },
    { contents: [{ parts: [{ text: `${content} [[sandbox:tokens=100]]` }] }] },
  )
  assert.equal(dig(readEvents(google.text).at(-1)?.body, 'error.status'), 'UNAVAILABLE')
})

test('garbage is a page where JSON was expected, and one broken event in a stream', async () => {
  const page = await open('[[sandbox:garbage]]', false)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /html/)
  assert.match(await page.text(), /^<html>/)
  const { events } = await stream('[[sandbox:garbage]]')
  assert.equal(events.filter((event) => event.body === undefined).length, 2)
  assert.equal(events.at(-1)?.data, '[DONE]')
  const gateway = await open('[[sandbox:garbage]] [[sandbox:500]]', false)
  assert.equal(gateway.status, 500)
  assert.match(await gateway.text(), /^<html>/)
})

test('a body can be empty', async () => {
  for (const streamed of [false, true]) {
    const response = await open('[[sandbox:empty_body]]', streamed)
    assert.equal(response.status, 200)
    assert.equal(await response.text(), '')
  }
})

test('other line ends, comments, one huge event and torn characters change nothing but the form', async () => {
  const plain = (await stream('[[sandbox:unicode]]')).events.map(({ body: event }) =>
    dig(event, 'choices.0.delta'),
  )
  for (const prompt of ['crlf', 'comments', 'big_event', 'split']) {
    const { events, text, chunks } = await stream(`[[sandbox:unicode]] [[sandbox:${prompt}]]`)
    const deltas = events.map(({ body: event }) => dig(event, 'choices.0.delta'))
    assert.equal(deltas.length > 10, true)
    assert.equal(typeof dig(deltas[3], 'content'), 'string')
    assert.deepEqual(Object.keys(Object(deltas[0])), Object.keys(Object(plain[0])))
    if (prompt === 'crlf') assert.ok(text.includes('\r\n\r\n'))
    if (prompt === 'comments') assert.ok(text.includes(': keep-alive\n\n'))
    if (prompt === 'big_event') assert.ok(text.length > 1_048_576)
    if (prompt === 'split') assert.ok(chunks.length > 20)
  }
})

test('test prompts combine', async () => {
  const start = performance.now()
  const response = await open('[[sandbox:slow=100]] [[sandbox:429=7]]', true)
  assert.ok(performance.now() - start >= 95)
  assert.equal(response.status, 429)
  assert.equal(response.headers.get('retry-after'), '7')
})

test('what was received is remembered with its end', async () => {
  await stream('[[sandbox:cut]] marked')
  await waitFor(() => sandbox.requests().at(-1)?.ending === 'cut')
  const last = sandbox.requests().at(-1)
  assert.equal(last?.provider, 'openai')
  assert.equal(last?.method, 'POST')
  assert.equal(last?.path, '/v1/chat/completions')
  assert.equal(last?.headers['authorization'], 'Bearer sk-test')
  assert.equal(dig(last?.body, 'messages.0.content'), 'Hello [[sandbox:cut]] marked')
  assert.equal(last?.status, 200)
  await stream('')
  await waitFor(() => sandbox.requests().at(-1)?.ending === 'answered')
})

test('a client that leaves a stream ends the work on it', async () => {
  const leave = new AbortController()
  const response = await open('[[sandbox:tokens=2000]] [[sandbox:pace=50]]', true, leave.signal)
  await response.body?.getReader().read()
  leave.abort()
  await waitFor(() => sandbox.requests().at(-1)?.ending === 'client_left')
})

test('a request that is too large is refused in the words of its provider', async () => {
  const text = 'x'.repeat(33 * 1_048_576)
  const response = await fetch(`${sandbox.urls.anthropic}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    body: text,
  })
  assert.equal(response.status, 413)
  assert.equal(dig(await response.json(), 'error.type'), 'request_too_large')
})

test('other paths are told where the providers are', async () => {
  const response = await fetch(`http://127.0.0.1:${sandbox.port}/`)
  assert.equal(response.status, 404)
  assert.match(await response.text(), /\/openai\/, \/anthropic\/, \/google\/, \/elevenlabs\//)
})

async function waitFor(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !condition(); turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.ok(condition())
}
