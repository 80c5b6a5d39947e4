// What the Responses API refuses, in OpenAI's words, and what it keeps between requests.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { objectOf } from '../../json.ts'
import { type Sandbox, startSandbox } from '../../main.ts'
import { dig, digNumber, digText, post } from '../../test-client.ts'

const CALL = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' }
const ASK = { role: 'user', content: 'Hello' }
const TOOL = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
const SEALED = { include: ['reasoning.encrypted_content'], store: false }
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function respond(body: object, key = 'sk-test') {
  const url = `${sandbox.urls.openai}/responses`
  return await post(url, { authorization: `Bearer ${key}` }, { model: 'gpt-5.6-sol', ...body })
}

async function answer(body: object, key = 'sk-test'): Promise<unknown> {
  const { status, body: answered, text } = await respond(body, key)
  assert.equal(status, 200, text)
  return answered
}

type Refusal = { status?: number; code: string | null; param: string | null; message?: RegExp }

async function isRefused(body: object, { status = 400, code, param, message }: Refusal) {
  const answered = await respond(body)
  assert.equal(answered.status, status, answered.text)
  const error = objectOf(dig(answered.body, 'error'))
  assert.deepEqual({ code: error['code'], param: error['param'] }, { code, param }, answered.text)
  if (message !== undefined) assert.match(digText(error, 'message'), message)
}

function item(response: unknown, type: string): Record<string, unknown> {
  const output = dig(response, 'output')
  assert.ok(Array.isArray(output))
  return objectOf(output.find((part: unknown) => dig(part, 'type') === type))
}

const FIELDS: readonly [body: object, refusal: Refusal][] = [
  [
    { input: 'Hi', messages: [] },
    { code: 'unknown_parameter', param: 'messages' },
  ],
  [
    { input: 'Hi', stop: ['.'] },
    { code: 'unknown_parameter', param: 'stop' },
  ],
  [
    { input: 'Hi', text: { mode: 1 } },
    { code: 'unknown_parameter', param: 'text.mode' },
  ],
  [
    { input: 'Hi', store: 'no' },
    { code: 'invalid_type', param: 'store' },
  ],
  [{ input: 7 }, { code: 'missing_required_parameter', param: 'input' }],
  [{}, { code: 'missing_required_parameter', param: 'input' }],
  [
    { input: 'Hi', max_output_tokens: 15 },
    { code: 'integer_below_min_value', param: 'max_output_tokens', message: />= 16/ },
  ],
  [
    { input: 'Hi', max_output_tokens: 200_000 },
    { code: 'invalid_value', param: 'max_output_tokens' },
  ],
  [
    { input: 'Hi', temperature: 0.5 },
    { code: null, param: 'temperature' },
  ],
  [
    { input: 'Hi', top_p: 0.5 },
    { code: null, param: 'top_p' },
  ],
  [
    { input: 'Hi', include: ['all'] },
    { code: 'invalid_value', param: 'include[0]' },
  ],
  [
    { input: 'Hi', reasoning: { effort: 'minimal' } },
    { code: 'unsupported_value', param: 'reasoning.effort', message: /'gpt-5.6-sol' model/ },
  ],
  [
    { model: 'gpt-4o', input: 'Hi', reasoning: { effort: 'low' } },
    { code: 'unsupported_parameter', param: 'reasoning.effort' },
  ],
  [
    { model: 'gpt-4o', input: 'Hi', include: ['reasoning.encrypted_content'] },
    { code: null, param: 'include', message: /Encrypted content is not supported/ },
  ],
  [
    { model: 'gpt-4o', input: 'Hi', text: { verbosity: 'low' } },
    { code: 'unsupported_value', param: 'text.verbosity' },
  ],
  [
    { input: 'Hi', stream_options: {} },
    { code: null, param: 'stream_options' },
  ],
  [
    { input: 'Hi', safety_identifier: 'x'.repeat(65) },
    { code: 'string_above_max_length', param: 'safety_identifier' },
  ],
  [
    { input: 'Hi', text: { format: { type: 'json_schema', json_schema: {} } } },
    { code: 'missing_required_parameter', param: 'text.format.name' },
  ],
  [
    { input: 'Hi', text: { format: { type: 'json_object' } } },
    { code: null, param: 'input', message: /word 'json'/ },
  ],
  [
    { model: 'gpt-4', input: 'word '.repeat(8_000) },
    { code: 'context_length_exceeded', param: 'input' },
  ],
  [
    { input: 'Hi', background: true },
    { code: 'unsupported_value', param: 'background' },
  ],
  [
    { model: 'gpt-9', input: 'Hi' },
    { status: 404, code: 'model_not_found', param: null },
  ],
]

for (const [body, refusal] of FIELDS) {
  test(`a request ${JSON.stringify(body).slice(0, 90)} is refused`, async () => {
    await isRefused(body, refusal)
  })
}

const TOOLS: readonly [tool: object, refusal: Refusal][] = [
  [
    { type: 'function', function: { name: 'f' } },
    { code: 'missing_required_parameter', param: 'tools[0].name' },
  ],
  [
    { ...TOOL, extra: 1 },
    { code: 'unknown_parameter', param: 'tools[0].extra' },
  ],
  [
    { ...TOOL, name: 'a b' },
    { code: 'invalid_value', param: 'tools[0].name' },
  ],
  [
    { ...TOOL, name: 'x'.repeat(65) },
    { code: 'string_above_max_length', param: 'tools[0].name' },
  ],
  [
    { ...TOOL, parameters: { type: 'string' } },
    { code: 'invalid_function_parameters', param: 'tools[0].parameters' },
  ],
  [
    { ...TOOL, strict: true },
    { code: 'invalid_function_parameters', param: 'tools[0].parameters' },
  ],
  [
    { type: 'web_search' },
    { code: 'unsupported_value', param: 'tools[0].type', message: /hosted tool 'web_search'/ },
  ],
  [{ type: 'nothing' }, { code: 'invalid_value', param: 'tools[0].type' }],
]

for (const [tool, refusal] of TOOLS) {
  test(`a tool ${JSON.stringify(tool).slice(0, 90)} is refused`, async () => {
    await isRefused({ input: 'Hi', tools: [tool] }, refusal)
  })
}

test('two tools of one name are refused, unless they are in different namespaces', async () => {
  await isRefused({ input: 'Hi', tools: [TOOL, TOOL] }, { code: 'invalid_value', param: 'tools' })
  const space = { type: 'namespace', name: 'other', description: '', tools: [TOOL] }
  await answer({ input: 'Hi', tools: [TOOL, space] })
})

test('a choice of a tool that was not offered is refused', async () => {
  const tool_choice = { type: 'function', name: 'g' }
  await isRefused({ input: 'Hi', tools: [TOOL], tool_choice }, { code: null, param: 'tool_choice' })
  await isRefused({ input: 'Hi', tool_choice: 'required' }, { code: null, param: 'tool_choice' })
})

test('tools that the input adds can be called', async () => {
  const added = { type: 'additional_tools', role: 'developer', tools: [TOOL] }
  const response = await answer({
    input: [added, { role: 'user', content: 'Go [[sandbox:tool]]' }],
  })
  assert.equal(item(response, 'function_call')['name'], 'f')
})

const ITEMS: readonly [input: readonly object[], refusal: Refusal][] = [
  [[{ ...ASK, name: 'x' }], { code: 'unknown_parameter', param: 'input[0].name' }],
  [[{ role: 'tool', content: 'x' }], { code: 'invalid_value', param: 'input[0]' }],
  [[{ type: 'nothing' }], { code: 'invalid_value', param: 'input[0]' }],
  [[{ type: 'web_search_call' }], { code: 'unsupported_value', param: 'input[0]' }],
  [[{ role: 'user' }], { code: 'missing_required_parameter', param: 'input[0].content' }],
  [
    [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    { code: 'invalid_value', param: 'input[0].content[0]' },
  ],
  [
    [ASK, { role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }],
    {
      code: 'invalid_value',
      param: 'input[1].content[0]',
      message: /Supported values are: 'output_text' and 'refusal'/,
    },
  ],
  [
    [{ role: 'user', content: [{ type: 'input_image', image_url: { url: 'https://x.test' } }] }],
    { code: 'invalid_type', param: 'input[0].content[0].image_url' },
  ],
  [
    [ASK, { ...CALL, arguments: {} }, OUTPUT],
    { code: 'invalid_type', param: 'input[1].arguments' },
  ],
  [
    [ASK, { ...CALL, id: 'msg_1' }, OUTPUT],
    { code: 'invalid_value', param: 'input[1].id', message: /begins with 'fc'/ },
  ],
  [
    [ASK, CALL],
    { code: null, param: 'input', message: /^No tool output found for function call call_1\.$/ },
  ],
  [
    [ASK, OUTPUT],
    {
      code: null,
      param: 'input',
      message: /^No tool call found for function call output with call_id call_1\.$/,
    },
  ],
  [
    [ASK, CALL, { ...OUTPUT, type: 'custom_tool_call_output' }],
    { code: null, param: 'input', message: /^No tool call found for custom tool call output/ },
  ],
  [
    [ASK, { type: 'item_reference', id: 'msg_unknown' }],
    {
      status: 404,
      code: null,
      param: 'input',
      message: /^Item with id 'msg_unknown' not found\.$/,
    },
  ],
]

for (const [input, refusal] of ITEMS) {
  test(`input ${JSON.stringify(input).slice(0, 110)} is refused`, async () => {
    await isRefused({ input }, refusal)
  })
}

test('an item that was not stored is not found, and the error says why', async () => {
  const first = await answer({ input: 'Hi', store: false })
  const reference = { type: 'item_reference', id: item(first, 'message')['id'] }
  await isRefused(
    { input: [ASK, reference, ASK], store: false },
    {
      status: 404,
      code: null,
      param: 'input',
      message: /not persisted when `store` is set to false/,
    },
  )
})

test('a stored response is continued by its id or by references to its items', async () => {
  const first = await answer({ input: 'My name is Ada.' })
  const again = { input: 'Go on', previous_response_id: dig(first, 'id') }
  const next = await answer(again)
  const references = ['reasoning', 'message'].map((type) => {
    return { type: 'item_reference', id: item(first, type)['id'] }
  })
  const asked = { role: 'user', content: 'Go on' }
  const input = [{ role: 'user', content: 'My name is Ada.' }, ...references, asked]
  const referred = await answer({ input })
  assert.equal(digNumber(next, 'usage.input_tokens'), digNumber(referred, 'usage.input_tokens'))
  assert.equal(digText(next, 'previous_response_id'), digText(first, 'id'))
  await isRefused(
    { input: 'Go on', previous_response_id: 'resp_none' },
    { code: 'previous_response_not_found', param: 'previous_response_id' },
  )
})

test('what one credential stored is not there for another', async () => {
  const first = await answer({ input: 'Hi' }, 'sk-one')
  const { status } = await respond(
    { input: 'Go on', previous_response_id: dig(first, 'id') },
    'sk-two',
  )
  assert.equal(status, 400)
})

test('sealed reasoning goes back with its call and costs what it cost', async () => {
  const asked = { role: 'user', content: 'Go [[sandbox:tool]]' }
  const first = await answer({ ...SEALED, input: [asked], tools: [TOOL] })
  const reasoning = item(first, 'reasoning')
  const call = item(first, 'function_call')
  assert.match(digText(reasoning, 'encrypted_content'), /^gAAAAA/)
  const output = { ...OUTPUT, call_id: call['call_id'] }
  const body = { ...SEALED, tools: [TOOL] }
  const bare = await answer({ ...body, input: [asked, call, output] })
  const whole = await answer({ ...body, input: [asked, reasoning, call, output] })
  const grown = digNumber(whole, 'usage.input_tokens') - digNumber(bare, 'usage.input_tokens')
  assert.ok(grown >= 128 && grown <= 130, `${grown} tokens more`)
})

test('reasoning that was altered, misplaced or meant for another model is refused', async () => {
  const first = await answer({ ...SEALED, input: [ASK] })
  const reasoning = item(first, 'reasoning')
  const message = item(first, 'message')
  const sealed = digText(reasoning, 'encrypted_content')
  const code = 'invalid_encrypted_content'
  const altered = { ...reasoning, encrypted_content: sealed.replace(/.(.{5})$/, 'x$1') }
  const parsed = /could not be decrypted or parsed/
  const refused = { code, param: null, message: parsed }
  await isRefused({ ...SEALED, input: [ASK, altered, message, ASK] }, refused)
  const input = [ASK, reasoning, message, ASK]
  await isRefused({ ...SEALED, model: 'gpt-5', input }, refused)
  await isRefused(
    { ...SEALED, input: [ASK, { ...reasoning, id: 'rs_other' }, message, ASK] },
    { code, param: null, message: /item_id did not match/ },
  )
  await answer({ ...SEALED, input })
  const { id, ...nameless } = reasoning
  assert.match(String(id), /^rs_/)
  await answer({ ...SEALED, input: [ASK, nameless, message, ASK] })
})

test('reasoning and the item it led to are not parted', async () => {
  const first = await answer({ input: [ASK], include: ['reasoning.encrypted_content'] })
  const reasoning = item(first, 'reasoning')
  const message = item(first, 'message')
  await isRefused(
    { input: [ASK, reasoning, ASK] },
    {
      code: null,
      param: 'input',
      message: /'reasoning' was provided without its required following/,
    },
  )
  await isRefused(
    { input: [ASK, message, ASK] },
    { code: null, param: 'input', message: /without its required 'reasoning' item: 'rs_/ },
  )
  await isRefused(
    { input: [ASK, reasoning, message, message, ASK] },
    { code: null, param: 'input', message: /^Duplicate item found with id msg_/ },
  )
})

test('the Responses API takes tools from models that refuse them in chat completions', async () => {
  for (const model of ['gpt-5-codex', 'gpt-5-pro', 'gpt-5.4', 'gpt-5.5', 'gpt-5.6-luna']) {
    const effort = model === 'gpt-5-pro' ? 'high' : 'low'
    const body = { model, input: 'Go [[sandbox:tool]]', tools: [TOOL], reasoning: { effort } }
    assert.equal(item(await answer(body), 'function_call')['name'], 'f', model)
  }
})
