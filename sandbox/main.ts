// Starts the sandbox: stand-ins for the AI providers and for Stripe, on one port, speaking their real
// protocols.
// Run it alone with `node sandbox/main.ts --port 8090`, or call startSandbox from a test.

import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { anthropicStandIn } from './anthropic/stand-in.ts'
import { elevenlabsStandIn } from './elevenlabs/stand-in.ts'
import { googleStandIn } from './google/stand-in.ts'
import { openaiStandIn } from './openai/stand-in.ts'
import { createRetirements, parseRetirements, type Retirement } from './retirement.ts'
import { createListener, knownModels, type ReceivedRequest, type StandIns } from './server.ts'
import { createStripe } from './stripe/stand-in.ts'
import type { StripeOptions } from './stripe/state.ts'
import type { WebhookSettings } from './stripe/webhooks.ts'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 8090
const HELP = `Stand-ins for OpenAI, Anthropic, Google, ElevenLabs and Stripe.

  --port <number>   where to listen (default ${DEFAULT_PORT}; 0 takes any free port)
  --host <address>  default ${DEFAULT_HOST}
  --help            this text

Stripe's webhooks go to STRIPE_WEBHOOK_URL, signed with STRIPE_WEBHOOK_SECRET and, for events of
connected accounts, STRIPE_CONNECT_WEBHOOK_SECRET. STRIPE_SEED changes its ids.
SANDBOX_RETIREMENTS retires models: openai/gpt-4=2026-10-23,google/gemini-2.0-flash=2026-06-01

The test prompts are listed in docs/sandbox.md.`

const STAND_INS: StandIns = {
  openai: openaiStandIn,
  anthropic: anthropicStandIn,
  google: googleStandIn,
  elevenlabs: elevenlabsStandIn,
}

export type SandboxOptions = {
  port?: number
  host?: string
  stripe?: StripeOptions
  /** Models that are gone, or announced to go; none without. */
  retirements?: readonly Retirement[]
}

export type Sandbox = {
  port: number
  /** Base addresses, each in the form its own clients expect. */
  urls: { openai: string; anthropic: string; google: string; elevenlabs: string; stripe: string }
  /** The latest requests to AI providers, oldest first, at most 500. Stripe's control API has its own. */
  requests(): readonly ReceivedRequest[]
  close(): Promise<void>
}

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? DEFAULT_HOST
  const stripe = createStripe(options.stripe)
  const retirements = createRetirements(options.retirements)
  const { server, requests } = createListener(STAND_INS, stripe, retirements)
  server.listen(options.port ?? 0, host)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    port,
    urls: {
      openai: `${base}/openai/v1`,
      anthropic: `${base}/anthropic`,
      google: `${base}/google`,
      elevenlabs: `${base}/elevenlabs`,
      stripe: base,
    },
    requests,
    async close() {
      stripe.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function runAlone(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { port: { type: 'string' }, host: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help === true) {
    console.log(HELP)
    return
  }
  const port = Number(values.port ?? DEFAULT_PORT)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port ${values.port}: a whole number from 0 to 65535 is allowed`)
  }
  const stripe = readStripeOptions(process.env)
  const host = values.host ?? DEFAULT_HOST
  const retirements = parseRetirements(
    process.env['SANDBOX_RETIREMENTS'] ?? '',
    knownModels(STAND_INS),
  )
  const sandbox = await startSandbox({ port, host, stripe, retirements })
  const stop = () => void sandbox.close()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  for (const [name, url] of Object.entries(sandbox.urls)) console.log(`${name.padEnd(12)}${url}`)
  // Started by another process: tells it where, and goes when it goes.
  process.send?.(sandbox.urls)
  process.once('disconnect', stop)
}

function readStripeOptions(env: NodeJS.ProcessEnv): StripeOptions {
  const webhooks: Partial<WebhookSettings> = {
    ...(env['STRIPE_WEBHOOK_URL'] && { url: env['STRIPE_WEBHOOK_URL'] }),
    ...(env['STRIPE_WEBHOOK_SECRET'] && { secret: env['STRIPE_WEBHOOK_SECRET'] }),
    ...(env['STRIPE_CONNECT_WEBHOOK_SECRET'] && {
      connect_secret: env['STRIPE_CONNECT_WEBHOOK_SECRET'],
    }),
  }
  return { webhooks, ...(env['STRIPE_SEED'] && { seed: env['STRIPE_SEED'] }) }
}

if (import.meta.main) {
  runAlone(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
}
