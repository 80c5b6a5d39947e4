// The whole application in this process on a fresh database: real parts, a clock that stands still, requests
// injected without a socket. Limits are wide unless a test sets them.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Writable } from 'node:stream'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Sandbox } from '../../sandbox/main.ts'
import { accountJobs } from '../../src/accounts/jobs.ts'
import { type AppOptions, buildApp } from '../../src/app.ts'
import { closeParts, compose } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { requireLiveSettings } from '../../src/live-settings.ts'
import { FrozenClock } from '../../src/platform/clock.ts'
import { createLog } from '../../src/platform/log.ts'
import { atEnd } from './cleanup.ts'
import { createDatabase } from './database.ts'
import { sharedSandbox } from './shared-sandbox.ts'

const WIDE_LIMITS = {
  RATE_LIMIT_PER_MINUTE: '1000000',
  SESSION_LIMIT_PER_MINUTE: '1000000',
  REGISTER_LIMIT_PER_MINUTE: '1000000',
  LOGIN_LIMIT_PER_MINUTE: '1000000',
  VERIFICATION_LIMIT_PER_HOUR: '1000000',
  PASSWORD_LIMIT_PER_15_MINUTES: '1000000',
  FUNDING_LIMIT_PER_MINUTE: '1000000',
  CALLS_AT_ONCE_MAX: '1000000',
}

export const PASSWORD = 'correct horse battery'

export type TestApp = Awaited<ReturnType<typeof createApp>>

export async function createApp(
  options: {
    settings?: Record<string, string>
    database_url?: string
    app?: AppOptions
    log_level?: string
  } = {},
) {
  const database_url = options.database_url ?? (await createDatabase())
  const sandbox = await sharedSandbox()
  const data_dir = mkdtempSync(path.join(tmpdir(), 'svc-app-'))
  const clock = new FrozenClock(new Date())
  const log_lines: string[] = []
  const config = loadConfig({
    DATA_DIR: data_dir,
    ...WIDE_LIMITS,
    ...sandboxSettings(sandbox.urls),
    ...options.settings,
  })
  requireLiveSettings(config)
  const parts = compose({
    config,
    database_url,
    clock,
    log: createLog({ level: options.log_level ?? 'warn', destination: collector(log_lines) }),
  })
  const app = await buildApp(parts, options.app)
  await parts.feed.start()
  await parts.call_ledger.start()
  parts.lifecycle.phase = 'ready'
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await app.close()
    await closeParts(parts)
    rmSync(data_dir, { recursive: true, force: true })
  }
  atEnd(close)
  const request = (given: InjectOptions): Promise<LightMyRequestResponse> => app.inject(given)
  return {
    app,
    parts,
    clock,
    sandbox,
    database_url,
    data_dir,
    log_lines,
    close,
    request,
    ...callers(request),
  }
}

/** Runs the mail job once, as the worker would. */
export async function sendQueuedMail(service: Pick<TestApp, 'parts'>): Promise<void> {
  const { parts } = service
  const jobs = accountJobs({ ...parts, public_url: parts.config.PUBLIC_URL, onMail: () => {} })
  for (const job of jobs) {
    if (job.name === 'accounts.send_mail') await job.run(new AbortController().signal)
  }
}

export function sandboxSettings(urls: Sandbox['urls']): Record<string, string> {
  return {
    OPENAI_API_KEY: 'sandbox',
    OPENAI_BASE_URL: urls.openai,
    ANTHROPIC_API_KEY: 'sandbox',
    ANTHROPIC_BASE_URL: urls.anthropic,
    GOOGLE_API_KEY: 'sandbox',
    GOOGLE_BASE_URL: urls.google,
    ELEVENLABS_API_KEY: 'sandbox',
    ELEVENLABS_BASE_URL: urls.elevenlabs,
    STRIPE_SECRET_KEY: 'sk_test_sandbox',
    STRIPE_BASE_URL: urls.stripe,
    STRIPE_WEBHOOK_SECRET: 'whsec_sandbox_account',
    STRIPE_CONNECT_WEBHOOK_SECRET: 'whsec_sandbox_connect',
  }
}

/** What tests read of a reply, whether it was injected or came over a socket. */
export type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body' | 'json'>

let people = 0

/** What every test does with a service, however it is reached. */
export function callers<Reply extends Answer>(request: (given: InjectOptions) => Promise<Reply>) {
  const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
    request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body),
    })
  const register = async (email = `person-${++people}@example.com`) => {
    const reply = await post('/auth/register', { email, password: PASSWORD })
    if (reply.statusCode !== 201)
      throw new Error(`register answered ${reply.statusCode}: ${reply.body}`)
    const body = reply.json<{ user: { id: string }; session_token: string }>()
    return {
      email,
      user_id: body.user.id,
      token: body.session_token,
      bearer: { authorization: `Bearer ${body.session_token}` },
    }
  }
  const createKey = async (bearer: Record<string, string>, body: object = {}) => {
    const wanted = { name: 'test', billing_mode: 'developer', ...body }
    const reply = await post('/developers/keys', wanted, bearer)
    if (reply.statusCode !== 201)
      throw new Error(`keys answered ${reply.statusCode}: ${reply.body}`)
    return reply.json<{ key: string; id: string }>()
  }
  return { post, register, createKey }
}

function collector(lines: string[]) {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
}
