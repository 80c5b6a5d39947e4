import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startSandbox } from './main.ts'
import { dig, digText } from './test-client.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

test('the addresses have the form that each provider’s clients expect', async () => {
  const sandbox = await startSandbox({ port: 0 })
  const base = `http://127.0.0.1:${sandbox.port}`
  assert.deepEqual(sandbox.urls, {
    openai: `${base}/openai/v1`,
    anthropic: `${base}/anthropic`,
    google: `${base}/google`,
    elevenlabs: `${base}/elevenlabs`,
    stripe: base,
  })
  assert.deepEqual(sandbox.requests(), [])
  await sandbox.close()
  await assert.rejects(fetch(base))
})

test('closing does not wait for requests that never end', async () => {
  const sandbox = await startSandbox({ port: 0 })
  const pending = fetch(`${sandbox.urls.openai}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: JSON.stringify({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: '[[sandbox:timeout]]' }],
    }),
  })
  const failed = assert.rejects(pending)
  while (sandbox.requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await sandbox.close()
  await failed
})

test('a port that is taken is reported', async () => {
  const sandbox = await startSandbox({ port: 0 })
  await assert.rejects(startSandbox({ port: sandbox.port }), { code: 'EADDRINUSE' })
  await sandbox.close()
})

test('run alone, it prints its addresses and stops on a signal', async () => {
  const child = spawn(process.execPath, [MAIN, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.setEncoding('utf8')
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    printed += String(chunk)
    if (printed.includes('elevenlabs')) break
  }
  assert.match(printed, /^openai\s+http:\/\/127\.0\.0\.1:\d+\/openai\/v1$/m)
  assert.match(printed, /^google\s+http:\/\/127\.0\.0\.1:\d+\/google$/m)
  child.kill('SIGTERM')
  const [code, signal]: unknown[] = await once(child, 'exit')
  assert.equal(signal, null)
  assert.equal(code, 0)
})

test('run alone, it takes from the environment where Stripe’s events go', async () => {
  const child = spawn(process.execPath, [MAIN, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      STRIPE_WEBHOOK_URL: 'http://127.0.0.1:9/webhooks/stripe',
      STRIPE_WEBHOOK_SECRET: 'whsec_one',
      STRIPE_CONNECT_WEBHOOK_SECRET: 'whsec_two',
    },
  })
  const [urls]: unknown[] = await once(child, 'message')
  const response = await fetch(`${digText(urls, 'stripe')}/_sandbox/stripe/webhooks`)
  const settings: unknown = await response.json()
  assert.equal(dig(settings, 'url'), 'http://127.0.0.1:9/webhooks/stripe')
  assert.equal(dig(settings, 'secret'), 'whsec_one')
  assert.equal(dig(settings, 'connect_secret'), 'whsec_two')
  child.disconnect()
  const [code]: unknown[] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('run alone, it explains itself and refuses a port that is none', async () => {
  const help = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = await once(help.stdout, 'data')
  assert.match(String(text), /--port <number>/)
  const wrong = spawn(process.execPath, [MAIN, '--port', 'x'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [message] = await once(wrong.stderr, 'data')
  assert.match(String(message), /^--port x: a whole number from 0 to 65535/)
  const [code]: unknown[] = await once(wrong, 'exit')
  assert.equal(code, 1)
})
