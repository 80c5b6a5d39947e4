import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, beforeEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { listOf } from './json.ts'
import { type Sandbox, startSandbox } from './main.ts'
import { dig, digText, get, post } from './test-client.ts'

const PAST = '2026-01-15'
const FUTURE = '2999-12-31'
const OPENAI = { authorization: 'Bearer sk-test' }
const ANTHROPIC = { 'x-api-key': 'sk-ant-test', 'anthropic-version': '2023-06-01' }
const GOOGLE = { 'x-goog-api-key': 'AIza-test' }
const SONNET = 'claude-sonnet-4-20250514'
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})
beforeEach(async () => {
  await fetch(control(), { method: 'DELETE' })
})

function control(): string {
  return `${sandbox.urls.stripe}/_sandbox/models`
}

async function retire(provider: string, model: string, retires_on: string | null) {
  return await post(control(), {}, { provider, model, retires_on })
}

async function chat(model: string) {
  const body = { model, messages: [{ role: 'user', content: 'Hi' }] }
  return await post(`${sandbox.urls.openai}/chat/completions`, OPENAI, body)
}

async function send(model: string) {
  const body = { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }
  return await post(`${sandbox.urls.anthropic}/v1/messages`, ANTHROPIC, body)
}

async function generate(model: string, method = 'generateContent') {
  const url = `${sandbox.urls.google}/v1beta/models/${model}:${method}`
  return await post(url, GOOGLE, { contents: [{ parts: [{ text: 'Hi' }] }] })
}

async function list(url: string, headers: Record<string, string>, path: string) {
  const { body } = await get(url, headers)
  return listOf(dig(body, path))
}

test('unless somebody asks, no model is retired and none is announced to be', async () => {
  const { body } = await get(control(), {})
  const models = listOf(dig(body, 'models'))
  assert.ok(models.length > 15)
  assert.ok(models.every((model) => dig(model, 'stage') === 'active'))
  for (const item of await list(`${sandbox.urls.openai}/models`, OPENAI, 'data')) {
    assert.equal(dig(item, 'shutdown_date'), null)
  }
  for (const item of await list(`${sandbox.urls.anthropic}/v1/models`, ANTHROPIC, 'data')) {
    assert.equal(dig(item, 'lifecycle'), 'active')
    assert.equal(dig(item, 'retires_at'), null)
  }
})

test('a retired model of OpenAI is not found, by any of its names, and not listed', async () => {
  await retire('openai', 'gpt-4o', PAST)
  for (const name of ['gpt-4o', 'gpt-4o-2024-08-06']) {
    const { status, body } = await chat(name)
    assert.equal(status, 404)
    assert.equal(dig(body, 'error.code'), 'model_not_found')
  }
  const models = await list(`${sandbox.urls.openai}/models`, OPENAI, 'data')
  assert.ok(models.every((model) => dig(model, 'id') !== 'gpt-4o'))
  assert.equal((await get(`${sandbox.urls.openai}/models/gpt-4o`, OPENAI)).status, 404)
  assert.equal((await chat('gpt-4o-mini')).status, 200)
})

test('a model of OpenAI that is announced to go is served, and listed with its day', async () => {
  await retire('openai', 'gpt-5', FUTURE)
  assert.equal((await chat('gpt-5')).status, 200)
  const { body } = await get(`${sandbox.urls.openai}/models/gpt-5`, OPENAI)
  assert.equal(dig(body, 'shutdown_date'), FUTURE)
})

test('a retired Claude is not found, and listed only for who asks for retired ones', async () => {
  await retire('anthropic', SONNET, PAST)
  for (const name of [SONNET, 'claude-sonnet-4-0']) {
    const { status, body } = await send(name)
    assert.equal(status, 404)
    assert.deepEqual(dig(body, 'error'), { type: 'not_found_error', message: `model: ${name}` })
  }
  const url = `${sandbox.urls.anthropic}/v1/models`
  const models = await list(url, ANTHROPIC, 'data')
  assert.ok(models.every((model) => dig(model, 'id') !== SONNET))
  const [retired] = await list(`${url}?lifecycle[]=retired`, ANTHROPIC, 'data')
  assert.equal(dig(retired, 'id'), SONNET)
  assert.equal(dig(retired, 'lifecycle'), 'retired')
})

test('a Claude that is announced to go is served, and listed as deprecated', async () => {
  await retire('anthropic', SONNET, FUTURE)
  assert.equal((await send(SONNET)).status, 200)
  const models = await list(`${sandbox.urls.anthropic}/v1/models`, ANTHROPIC, 'data')
  const model = models.find((item) => dig(item, 'id') === SONNET)
  assert.equal(dig(model, 'lifecycle'), 'deprecated')
  assert.equal(dig(model, 'retires_at'), `${FUTURE}T00:00:00Z`)
  assert.equal(typeof dig(model, 'deprecated_at'), 'string')
})

test('a retired Gemini is not found by any method, and not listed', async () => {
  await retire('google', 'gemini-2.0-flash', PAST)
  for (const method of ['generateContent', 'streamGenerateContent', 'countTokens']) {
    const { status, text } = await generate('gemini-2.0-flash', method)
    assert.equal(status, 404)
    assert.match(text, /models\/gemini-2\.0-flash is no longer available/)
  }
  const models = await list(`${sandbox.urls.google}/v1beta/models`, GOOGLE, 'models')
  assert.ok(models.every((model) => dig(model, 'name') !== 'models/gemini-2.0-flash'))
  const one = await get(`${sandbox.urls.google}/v1beta/models/gemini-2.0-flash`, GOOGLE)
  assert.equal(one.status, 404)
})

test('a Gemini that is announced to go says so in its answers', async () => {
  await retire('google', 'gemini-2.5-pro', FUTURE)
  const { body } = await generate('gemini-2.5-pro')
  assert.equal(dig(body, 'modelStatus.modelStage'), 'DEPRECATED')
  assert.equal(dig(body, 'modelStatus.retirementTime'), `${FUTURE}T00:00:00Z`)
})

test('a retirement can be taken back', async () => {
  await retire('openai', 'gpt-4', PAST)
  assert.equal((await chat('gpt-4')).status, 404)
  await retire('openai', 'gpt-4', null)
  assert.equal((await chat('gpt-4')).status, 200)
})

test('a retirement of nothing is refused, so that no typing error passes as a test', async () => {
  const wrong: readonly [object, RegExp][] = [
    [{ provider: 'openai', model: 'gpt-9', retires_on: PAST }, /^model: one of gpt-4o/],
    [{ provider: 'nobody', model: 'gpt-4', retires_on: PAST }, /^provider: one of/],
    [{ provider: 'openai', model: 'gpt-4', retires_on: 'soon' }, /^retires_on: a day/],
    [{ provider: 'openai', model: 'gpt-4', retired: true }, /no 'retired'/],
  ]
  for (const [wish, message] of wrong) {
    const { status, body } = await post(control(), {}, wish)
    assert.equal(status, 400)
    assert.match(digText(body, 'error'), message)
  }
})

test('models can be retired from the start, by an option or by the environment', async () => {
  const retirements = [{ provider: 'openai', model: 'gpt-4', retires_on: PAST }] as const
  const other = await startSandbox({ port: 0, retirements })
  const models = await list(`${other.urls.openai}/models`, OPENAI, 'data')
  await other.close()
  assert.ok(models.every((model) => dig(model, 'id') !== 'gpt-4'))
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, SANDBOX_RETIREMENTS: `openai/gpt-4=${PAST}, openai/gpt-5=${FUTURE}` },
  })
  const [urls]: unknown[] = await once(child, 'message')
  const { body } = await get(`${digText(urls, 'stripe')}/_sandbox/models`, {})
  child.disconnect()
  const changed = listOf(dig(body, 'models')).filter((model) => dig(model, 'stage') !== 'active')
  assert.deepEqual(changed, [
    { provider: 'openai', model: 'gpt-4', stage: 'retired', retires_on: PAST },
    { provider: 'openai', model: 'gpt-5', stage: 'deprecated', retires_on: FUTURE },
  ])
})
