import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fc } from '../test/support/same-cases.ts'
import { type Sandbox, startSandbox } from './main.ts'

const RUNS = { numRuns: 80, seed: 20_261_115 }
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

type Target = { name: string; path(): string; headers: Record<string, string>; good: object }

const TARGETS: readonly Target[] = [
  {
    name: 'OpenAI',
    path: () => `${sandbox.urls.openai}/chat/completions`,
    headers: { authorization: 'Bearer k' },
    good: {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: 'auto',
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
      stop: ['a'],
      n: 1,
    },
  },
  {
    name: 'OpenAI Responses',
    path: () => `${sandbox.urls.openai}/responses`,
    headers: { authorization: 'Bearer k' },
    good: {
      model: 'gpt-5',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'x' }] },
      ],
      tools: [
        { type: 'namespace', name: 'n', description: '', tools: [{ type: 'function', name: 'f' }] },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'f' }],
      },
      text: { format: { type: 'json_schema', name: 'x', schema: {} } },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    },
  },
  {
    name: 'OpenAI embeddings',
    path: () => `${sandbox.urls.openai}/embeddings`,
    headers: { authorization: 'Bearer k' },
    good: { model: 'text-embedding-3-small', input: [[1, 2], [3]], dimensions: 8 },
  },
  {
    name: 'Google embeddings',
    path: () => `${sandbox.urls.google}/v1beta/models/gemini-embedding-001:batchEmbedContents`,
    headers: { 'x-goog-api-key': 'k' },
    good: {
      requests: [
        {
          model: 'models/gemini-embedding-001',
          content: { parts: [{ text: 'Hi' }] },
          embedContentConfig: { outputDimensionality: 8 },
        },
      ],
    },
  },
  {
    name: 'Anthropic',
    path: () => `${sandbox.urls.anthropic}/v1/messages`,
    headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    good: {
      model: 'claude-sonnet-4-20250514',
      max_tokens: 50,
      system: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      tool_choice: { type: 'auto' },
    },
  },
  {
    name: 'Google',
    path: () => `${sandbox.urls.google}/v1beta/models/gemini-2.5-flash:generateContent`,
    headers: { 'x-goog-api-key': 'k' },
    good: {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be brief' }] },
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'object' } }] }],
      generationConfig: { maxOutputTokens: 500, thinkingConfig: { thinkingBudget: 0 } },
    },
  },
  {
    name: 'ElevenLabs',
    path: () => `${sandbox.urls.elevenlabs}/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM`,
    headers: { 'xi-api-key': 'k' },
    good: { text: 'Hi', model_id: 'eleven_flash_v2_5', voice_settings: { speed: 1 } },
  },
]

/** The good body with one value, at any depth, replaced by anything. */
function spoil(value: unknown, choices: readonly number[], junk: unknown): unknown {
  const [choice, ...rest] = choices
  if (choice === undefined || typeof value !== 'object' || value === null) return junk
  const entries = Object.entries(value)
  const at = choice % Math.max(entries.length, 1)
  const spoiled = entries.map(([name, inner]: [string, unknown], index): [string, unknown] => {
    return [name, index === at ? spoil(inner, rest, junk) : inner]
  })
  return Array.isArray(value) ? spoiled.map(([, inner]) => inner) : Object.fromEntries(spoiled)
}

async function answers(target: Target, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', ...target.headers }
  const response = await fetch(target.path(), { method: 'POST', headers, body })
  await response.arrayBuffer()
  assert.ok(response.status < 500, `${response.status}: ${body}`)
}

for (const target of TARGETS) {
  test(`no body, however wrong, makes ${target.name} fail`, async () => {
    const choices = fc.array(fc.nat(9), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(choices, fc.jsonValue({ maxDepth: 3 }), async (path, junk) => {
        await answers(target, JSON.stringify(spoil(target.good, path, junk)))
      }),
      RUNS,
    )
    for (const body of ['', 'null', '[]', '"text"', '{', '\u0000', '{"a":1}'])
      await answers(target, body)
    await answers(target, JSON.stringify(target.good))
  })
}

test('no form, however wrong, makes ElevenLabs fail', async () => {
  const url = `${sandbox.urls.elevenlabs}/v1/speech-to-text`
  const type = 'multipart/form-data; boundary=x'
  const bodies = [
    '',
    '--x',
    '--x--',
    '--x\r\n\r\n--x--',
    '--x\r\nfoo\r\n\r\nbar\r\n--x--',
    'nothing',
  ]
  for (const body of bodies) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
    assert.equal(response.status, 422)
    await response.arrayBuffer()
  }
})
