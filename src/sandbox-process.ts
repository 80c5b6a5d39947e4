// In sandbox mode, providers without a credential are played by stand-ins in a process of their own: the product
// speaks to them over HTTP like to the real ones, and shares no code with them.

import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from './config.ts'
import type { Log } from './platform/log.ts'
import { mintSecret } from './platform/tokens.ts'

const PROGRAM = fileURLToPath(new URL('../sandbox/main.ts', import.meta.url))
/** The stand-ins take any credential that is not empty. */
const SANDBOX_KEY = 'sandbox'
export const SANDBOX_STRIPE_KEY = 'sk_test_sandbox'
/** In DATA_DIR, for commands beside the service: where the stand-in of Stripe is. */
export const SANDBOX_ADDRESS_FILE = 'sandbox-stripe-url'
/** The same for all stand-ins, as JSON. */
const SANDBOX_URLS_FILE = 'sandbox-urls.json'
const SET_UP_LIMIT_MS = 10_000

type ProviderConfig = Pick<
  Config,
  | 'OPENAI_API_KEY'
  | 'OPENAI_BASE_URL'
  | 'ANTHROPIC_API_KEY'
  | 'ANTHROPIC_BASE_URL'
  | 'GOOGLE_API_KEY'
  | 'GOOGLE_BASE_URL'
  | 'ELEVENLABS_API_KEY'
  | 'ELEVENLABS_BASE_URL'
  | 'STRIPE_SECRET_KEY'
  | 'STRIPE_BASE_URL'
  | 'STRIPE_WEBHOOK_SECRET'
  | 'STRIPE_CONNECT_WEBHOOK_SECRET'
>

type SandboxUrls = Record<'openai' | 'anthropic' | 'google' | 'elevenlabs' | 'stripe', string>

type WebhookSecrets = { account: string; connect: string }

const NO_URLS: SandboxUrls = { openai: '', anthropic: '', google: '', elevenlabs: '', stripe: '' }
const NO_SECRETS: WebhookSecrets = { account: '', connect: '' }

export type WithSandbox = {
  config: Config
  /** Tells the stand-in of Stripe where its events go. */
  announce: (address: string) => Promise<void>
  close: () => void
}

/** Starts the stand-ins where they are wanted; the returned settings lead to them. */
export async function startSandboxProcess(config: Config, log: Log): Promise<WithSandbox> {
  if (config.SVC_MODE !== 'sandbox' || config.ROLE === 'worker' || !lacksCredential(config)) {
    return { config, announce: async () => {}, close: () => {} }
  }
  const secrets = { account: mintSecret('whsec_'), connect: mintSecret('whsec_') }
  const child = fork(PROGRAM, ['--port', '0'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // The memory flags of the gateway are not for it.
    execArgv: [],
    // Out of the terminal's group: a Ctrl-C must not end it before the streams that it feeds.
    detached: true,
  })
  const died = once(child, 'exit').then(() => {
    throw new Error('the sandbox ended before it was ready')
  })
  const urls = await Promise.race([readUrls(child), died])
  died.catch(() => {})
  mkdirSync(config.DATA_DIR, { recursive: true })
  writeFileSync(path.join(config.DATA_DIR, SANDBOX_ADDRESS_FILE), `${urls.stripe}\n`)
  writeFileSync(path.join(config.DATA_DIR, SANDBOX_URLS_FILE), `${JSON.stringify(urls)}\n`)
  let closing = false
  child.once('exit', () => {
    if (!closing) log.error('the sandbox ended: models without a credential do not answer')
  })
  const close = () => {
    closing = true
    child.kill()
  }
  // It forgets everything when it ends, and the database does not: ids must not come up a second time.
  if (!config.STRIPE_SECRET_KEY) await setUpStripe(urls, '/reset', { seed: randomUUID() })
  const announce = async (address: string) => {
    if (config.STRIPE_SECRET_KEY) return
    await setUpStripe(urls, '/webhooks', {
      url: `${address}/webhooks/stripe`,
      secret: secrets.account,
      connect_secret: secrets.connect,
    })
  }
  return { config: { ...config, ...sandboxSettings(config, urls, secrets) }, announce, close }
}

/** For a command beside a service that may run: settings that lead to its stand-ins. */
export function joinSandbox(config: Config): Config {
  const file = path.join(config.DATA_DIR, SANDBOX_URLS_FILE)
  if (config.SVC_MODE !== 'sandbox' || !existsSync(file)) return config
  const known: Partial<SandboxUrls> = JSON.parse(readFileSync(file, 'utf8'))
  return { ...config, ...sandboxSettings(config, { ...NO_URLS, ...known }, NO_SECRETS) }
}

async function setUpStripe(urls: SandboxUrls, path: string, body: object): Promise<void> {
  const reply = await fetch(`${urls.stripe}/_sandbox/stripe${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(SET_UP_LIMIT_MS),
  })
  if (!reply.ok) throw new Error(`the sandbox cannot be set up: ${await reply.text()}`)
}

/** Under `node --watch` a process also tells which files it has read. */
function readUrls(child: ChildProcess): Promise<SandboxUrls> {
  return new Promise((resolve) => {
    child.on('message', (message: object) => {
      if ('openai' in message) resolve(message as SandboxUrls)
    })
  })
}

/** The same settings as an environment, for processes that this one forks. */
export function providerEnvironment(config: Config): Record<string, string> {
  const names = Object.keys(sandboxSettings(config, NO_URLS, NO_SECRETS))
  const given = names.map((name) => [name, config[name as keyof ProviderConfig]] as const)
  return Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] !== undefined))
}

function lacksCredential(config: Config): boolean {
  return [
    config.OPENAI_API_KEY,
    config.ANTHROPIC_API_KEY,
    config.GOOGLE_API_KEY,
    config.ELEVENLABS_API_KEY,
    config.STRIPE_SECRET_KEY,
  ].some((credential) => !credential)
}

function sandboxSettings(
  config: Config,
  urls: SandboxUrls,
  secrets: WebhookSecrets,
): ProviderConfig {
  const real = config
  return {
    ...(real.OPENAI_API_KEY
      ? { OPENAI_API_KEY: real.OPENAI_API_KEY, OPENAI_BASE_URL: real.OPENAI_BASE_URL }
      : { OPENAI_API_KEY: SANDBOX_KEY, OPENAI_BASE_URL: urls.openai }),
    ...(real.ANTHROPIC_API_KEY
      ? { ANTHROPIC_API_KEY: real.ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL: real.ANTHROPIC_BASE_URL }
      : { ANTHROPIC_API_KEY: SANDBOX_KEY, ANTHROPIC_BASE_URL: urls.anthropic }),
    ...(real.GOOGLE_API_KEY
      ? { GOOGLE_API_KEY: real.GOOGLE_API_KEY, GOOGLE_BASE_URL: real.GOOGLE_BASE_URL }
      : { GOOGLE_API_KEY: SANDBOX_KEY, GOOGLE_BASE_URL: urls.google }),
    ...(real.ELEVENLABS_API_KEY
      ? {
          ELEVENLABS_API_KEY: real.ELEVENLABS_API_KEY,
          ELEVENLABS_BASE_URL: real.ELEVENLABS_BASE_URL,
        }
      : { ELEVENLABS_API_KEY: SANDBOX_KEY, ELEVENLABS_BASE_URL: urls.elevenlabs }),
    ...(real.STRIPE_SECRET_KEY
      ? {
          STRIPE_SECRET_KEY: real.STRIPE_SECRET_KEY,
          STRIPE_BASE_URL: real.STRIPE_BASE_URL,
          STRIPE_WEBHOOK_SECRET: real.STRIPE_WEBHOOK_SECRET,
          STRIPE_CONNECT_WEBHOOK_SECRET: real.STRIPE_CONNECT_WEBHOOK_SECRET,
        }
      : {
          STRIPE_SECRET_KEY: SANDBOX_STRIPE_KEY,
          STRIPE_BASE_URL: urls.stripe,
          STRIPE_WEBHOOK_SECRET: secrets.account,
          STRIPE_CONNECT_WEBHOOK_SECRET: secrets.connect,
        }),
  }
}
