// What a stranger copies from docs/webhooks.md works, and what it says is what the code does.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { Webhook } from 'standardwebhooks'
import { EVENT_TYPE_NAMES } from '../../src/events/event-types.ts'
import { OUTCOMES } from '../../src/webhooks/attempt-outcome.ts'
import { RETRIES, retryAfterMs } from '../../src/webhooks/retries.ts'
import { followPage } from '../support/documented-commands.ts'
import { startEventReceiver } from '../support/event-receiver.ts'
import { eventually } from '../support/eventually.ts'
import { type launch, ROOT } from '../support/service.ts'
import { createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()
const page = readFileSync(path.join(ROOT, 'docs/webhooks.md'), 'utf8')

test('every command runs, from the registration to a terminal that listens', async () => {
  const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const receiver = await startEventReceiver()
  const addresses = {
    'http://localhost:8080': address,
    'http://localhost:3000/hooks': receiver.url,
  }
  let session = ''
  const secrets: string[] = []
  const readFields = async (line: string) => {
    const fields = JSON.parse(line) as Record<string, string>
    session = fields['session_token'] ?? session
    if (fields['secret'] !== undefined) secrets.push(fields['secret'])
    return fields
  }
  let has_listened = false
  /** Ctrl-C reaches all that the terminal runs. */
  const runApart = async (block: string, start: () => ReturnType<typeof launch>) => {
    if (!block.includes('webhooks listen')) return false
    const program = start()
    const prints = (text: string) =>
      eventually(text, () => program.stdout().includes(text), 20_000).catch(() =>
        assert.fail(program.output()),
      )
    await prints('signing secret: whsec_')
    const { key } = await service.createKey({ authorization: `Bearer ${session}` })
    await service.call(key)
    await service.work()
    await prints('→ 200')
    process.kill(-program.pid, 'SIGINT')
    await prints(' delivered, 0 failed')
    await program.end()
    has_listened = true
    return true
  }
  await followPage({
    file: 'docs/webhooks.md',
    addresses,
    readFields,
    runApart,
    afterEach: service.work,
  })
  assert.ok(has_listened)
  assert.equal(secrets.length, 2)
  const [sent, again] = receiver.received
  assert.equal(sent?.event.id, again?.event.id, 'the test event was sent, and sent again')
  new Webhook(secrets[0] ?? '').verify(sent?.body ?? '', sent?.headers as Record<string, string>)
})

test('every outcome of an attempt is explained, and no other', () => {
  const log = page.slice(page.indexOf('| Outcome |'), page.indexOf('## Send again'))
  const explained = [...log.matchAll(/^\| `(\w+)` \|/gm)].map(([, word]) => word)
  assert.deepEqual(explained, [...OUTCOMES])
})

test('the table of attempts has the waits of the code', () => {
  const units = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 }
  const rows = [...page.matchAll(/^\| \d \| (\d+) (seconds|minutes|hours) after the/gm)]
  const written = rows.map(([, count, unit]) => Number(count) * units[unit as keyof typeof units])
  const waits = Array.from({ length: RETRIES }, (_, index) => retryAfterMs(RETRIES - index, 0.5))
  assert.deepEqual(written, waits)
})

test('every event is in the OpenAPI document, with an example of its own schema, and in the reference', async () => {
  type Described = {
    post: {
      operationId: string
      requestBody: { content: Record<string, { schema: object; example: unknown }> }
    }
  }
  const reply = await service.request({ url: '/openapi.json' })
  const { webhooks } = reply.json<{ webhooks: Record<string, Described> }>()
  assert.deepEqual(Object.keys(webhooks), EVENT_TYPE_NAMES)
  const reference = (await service.request({ url: '/docs' })).body
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  for (const [type, { post }] of Object.entries(webhooks)) {
    const media = post.requestBody.content['application/json'] ?? assert.fail(type)
    assert.ok(ajv.validate(media.schema, media.example), `${type}: ${ajv.errorsText()}`)
    assert.ok(reference.includes(`id="event-${type.replace('.', '-')}"`), type)
    assert.ok(page.includes(`### ${type}\n`), type)
  }
})
