// What live mode does not start with, and what it starts with and warns of: settings that are fine for trying things out,
// and cost money, accounts or secrets where strangers call.

import { type Config, ConfigError } from './config.ts'

const METRICS_TOKEN_LENGTH_MIN = 24
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
const PROVIDERS = ['OPENAI', 'ANTHROPIC', 'GOOGLE', 'ELEVENLABS'] as const

/** One line that names the variable, its value unless that is a secret, and what is allowed. */
export function requireLiveSettings(config: Config): void {
  if (config.SVC_MODE !== 'live') return
  requirePublicUrl(config)
  if (config.SMTP_URL === undefined) {
    throw new ConfigError(
      'SMTP_URL is not set: live mode needs a mail server, for example smtps://user:password@mail.example.com',
    )
  }
  const { METRICS_TOKEN: token } = config
  if (token !== undefined && token.length < METRICS_TOKEN_LENGTH_MIN) {
    throw new ConfigError(
      `METRICS_TOKEN=(hidden) is not allowed: expected in live mode at least ${METRICS_TOKEN_LENGTH_MIN} characters, such as the output of \`openssl rand -hex 24\``,
    )
  }
}

function requirePublicUrl({ PUBLIC_URL, ALLOW_INSECURE_PUBLIC_URL }: Config): void {
  const has_credentials = /^https?:\/\/[^/?#]*@/.test(PUBLIC_URL)
  const is_bare = !has_credentials && !/[?#]/.test(PUBLIC_URL)
  const may_be_plain = ALLOW_INSECURE_PUBLIC_URL === 'loopback' && isLoopback(PUBLIC_URL)
  if (is_bare && (PUBLIC_URL.startsWith('https://') || may_be_plain)) return
  const shown = has_credentials ? '(hidden)' : JSON.stringify(PUBLIC_URL)
  throw new ConfigError(
    `PUBLIC_URL=${shown} is not allowed: expected in live mode an address that starts with https://, without user name, password, query or fragment; with ALLOW_INSECURE_PUBLIC_URL=loopback also http:// on localhost, 127.0.0.1 or [::1]`,
  )
}

/** What the operator should see to: for the log at start, and for /ready. Names settings, never their values. */
export function settingWarnings(config: Config): string[] {
  return config.SVC_MODE === 'live' ? liveWarnings(config) : sandboxWarnings(config)
}

/** A sandbox gives credits away. That is harmless while nobody else can reach it, or while nothing costs money. */
function sandboxWarnings(config: Config): string[] {
  if (!config.PUBLIC_URL.startsWith('https:')) return []
  const paid = [...paidProviders(config), ...(isLiveStripe(config) ? ['STRIPE_SECRET_KEY'] : [])]
  if (paid.length === 0) return []
  return [
    `SVC_MODE is sandbox, PUBLIC_URL is public, and ${paid.join(', ')} cost real money: every account is given credits to spend them. Set SVC_MODE=live`,
  ]
}

function liveWarnings(config: Config): string[] {
  const is_public = config.PUBLIC_URL.startsWith('https:')
  const plain = PROVIDERS.map((name) => `${name}_BASE_URL` as const).filter((name) => {
    const url = config[name] ?? ''
    return url.startsWith('http:') && !isLoopback(url)
  })
  return [
    ...(is_public ? [] : ['PUBLIC_URL is not https: links work on this machine only']),
    // We do not speak TLS ourselves, so somebody in front of us does.
    ...(is_public && config.TRUST_PROXY.length === 0
      ? [
          'TRUST_PROXY is not set: every caller has the address of your proxy, in limits, security logs and address ranges of keys',
        ]
      : []),
    ...(config.STRIPE_SECRET_KEY !== undefined && !isLiveStripe(config)
      ? ['STRIPE_SECRET_KEY is no live key: test cards buy credits that are spent for real']
      : []),
    ...(/@localhost>?$/.test(config.MAIL_FROM)
      ? ['MAIL_FROM is at localhost: mail servers will refuse it']
      : []),
    ...plain.map((name) => `${name} is not https: the provider's key is sent in the clear`),
  ]
}

/** Those that are real: a stand-in is on this machine. */
function paidProviders(config: Config): string[] {
  return PROVIDERS.filter((name) => {
    const base_url = config[`${name}_BASE_URL`]
    return config[`${name}_API_KEY`] !== undefined && !(base_url && isLoopback(base_url))
  }).map((name) => `${name}_API_KEY`)
}

function isLiveStripe({ STRIPE_SECRET_KEY: key }: Config): boolean {
  return key !== undefined && /^(sk|rk)_live_/.test(key)
}

export function isLoopback(url: string): boolean {
  return LOOPBACK_HOST.test(URL.parse(url)?.hostname ?? '')
}
