// Every setting, in one table: its type, default and meaning. .env.example is generated from it.

import { LOG_LEVELS } from './platform/log.ts'
import {
  choice,
  credits,
  integer,
  limit,
  networks,
  optionalChoice,
  optionalCredits,
  optionalLimit,
  optionalText,
  percent,
  type Setting,
  secretKeys,
  text,
  url,
} from './setting-kinds.ts'

import { PROMOTIONAL_CREDITS } from './wallet/promotional.ts'

export const SETTINGS = {
  PORT: integer({
    fallback: 8080,
    min: 0,
    max: 65_535,
    doc: 'Port of the gateway; 0 takes a free one.',
  }),
  HOST: text({ fallback: '127.0.0.1', doc: 'Address to listen on. 0.0.0.0 for every interface.' }),
  PUBLIC_URL: url({
    protocols: ['http:', 'https:'],
    doc: 'Base of links, docs_url and the OAuth issuer. Default: http://localhost:$PORT. Live mode needs https.',
  }),
  ALLOW_INSECURE_PUBLIC_URL: optionalChoice(['loopback'] as const, {
    doc: 'loopback: live mode takes an http PUBLIC_URL on localhost, 127.0.0.1 or [::1], to be tried on one machine.',
  }),
  SVC_MODE: choice(['sandbox', 'live'] as const, {
    doc: 'sandbox: parts without credentials use built-in stand-ins. live: never.',
  }),
  ROLE: choice(['all', 'api', 'worker'] as const, {
    doc: 'api serves HTTP only, worker runs background work only. Any number of each may share one database.',
  }),
  WORKERS: integer({
    fallback: 1,
    min: 1,
    max: 256,
    doc: 'HTTP processes to fork on this machine.',
  }),
  WORKER_PORT: integer({
    fallback: 8081,
    min: 0,
    max: 65_535,
    doc: 'Port of /health, /ready and /metrics of a process without the API: ROLE=worker, and the parent of WORKERS above 1. 0 takes a free one.',
  }),
  DATA_DIR: text({
    fallback: '.data',
    doc: 'Folder of the embedded database, generated secrets and captured mail.',
  }),
  DATABASE_URL: url({
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
    doc: 'PostgreSQL 15 or newer. Without it an embedded PostgreSQL runs in DATA_DIR.',
  }),
  DATABASE_POOL_SIZE: integer({
    fallback: 10,
    min: 2,
    max: 1000,
    doc: 'Database connections of one process for requests. It has eight more of its own, for the ledger, revocations and migrations.',
  }),
  SECRETS_KEY: secretKeys({
    doc: 'Encrypts the secrets of webhooks in the database: `openssl rand -base64 32`. In a list the first encrypts and all decrypt. Without it a key is made in DATA_DIR; live mode with DATABASE_URL needs it.',
  }),
  REDIS_URL: url({
    protocols: ['redis:', 'rediss:'],
    secret: true,
    doc: 'Redis or Valkey: rate limits shared by all processes. Without it each process counts alone.',
  }),
  WELCOME_CREDITS: optionalCredits({
    doc: 'Credits of a new account (1,000,000 = $1). Default: 1000000 in sandbox mode, 100 in live mode.',
  }),
  VERIFIED_CREDITS: credits({
    fallback: 0n,
    doc: 'Credits that an account gets once, when its address is verified.',
  }),
  PROMOTIONAL_CREDITS: optionalChoice(PROMOTIONAL_CREDITS, {
    doc: 'What credits are that nobody paid for. spend_only: they pay for calls, cannot be transferred, and a markup that they pay is never paid out. as_money: what other credits are. The same in every process. Default: spend_only in live mode, as_money in sandbox mode.',
  }),
  RATE_LIMIT_PER_MINUTE: limit({
    fallback: 100,
    doc: 'Requests a minute per key, token, session token or IP.',
  }),
  SESSION_LIMIT_PER_MINUTE: limit({
    fallback: 300,
    doc: 'Requests a minute per session of a browser, which sends the cookie: a page makes several at once.',
  }),
  REGISTER_LIMIT_PER_MINUTE: limit({ fallback: 3, doc: 'Registrations a minute per IP.' }),
  REGISTER_SITE_LIMIT_PER_MINUTE: optionalLimit({
    doc: 'Registrations a minute per /56 of IPv6 or /24 of IPv4. Default: 3 times REGISTER_LIMIT_PER_MINUTE.',
  }),
  REGISTER_REGION_LIMIT_PER_MINUTE: optionalLimit({
    doc: 'Registrations a minute per /48 of IPv6 or /16 of IPv4. Default: 10 times REGISTER_LIMIT_PER_MINUTE.',
  }),
  REGISTER_SERVICE_LIMIT_PER_MINUTE: optionalLimit({
    doc: 'Registrations a minute of everybody together. Default: 100 times REGISTER_LIMIT_PER_MINUTE.',
  }),
  LOGIN_LIMIT_PER_MINUTE: limit({
    fallback: 5,
    doc: 'Logins a minute per IP, and failed ones per email.',
  }),
  VERIFICATION_LIMIT_PER_HOUR: limit({ fallback: 3, doc: 'Verification mails an hour per user.' }),
  PASSWORD_LIMIT_PER_15_MINUTES: limit({
    fallback: 5,
    doc: 'Password changes, right or wrong, in 15 minutes per user.',
  }),
  PASSWORD_POLICY: optionalChoice(['length', 'common'] as const, {
    doc: 'Which new passwords are taken. length: any of 8 characters. common: none of the 10,000 that are guessed first, nor one’s own address. Default: common in live mode, length in sandbox mode.',
  }),
  FUNDING_LIMIT_PER_MINUTE: limit({ fallback: 30, doc: 'Funding transfers a minute per API key.' }),
  TOKEN_LIMIT_PER_MINUTE: limit({
    fallback: 1000,
    doc: 'Requests a minute to /oauth/token and /oauth/revoke per app; for apps without a secret per app and address, and 50 times as many from all addresses.',
  }),
  SESSION_IDLE_MINUTES: integer({
    fallback: 1_440,
    min: 5,
    max: 1_440,
    doc: 'A session that nobody used for this long ends, within a minute. The default is as long as any session lasts: 24 hours.',
  }),
  HOSTED_GRANT_IDLE_DAYS: integer({
    fallback: 180,
    min: 1,
    max: 3650,
    doc: 'Days without a use after which a hosted link ends.',
  }),
  RESPONSE_ITEMS_DAYS: integer({
    fallback: 7,
    min: 0,
    max: 30,
    doc: 'Days for which clients of POST /v1/responses can refer to what a model answered, unless they say `store: false`. 0: nothing is kept.',
  }),
  STEP_UP: optionalChoice(['always', 'with_second_factor'] as const, {
    doc: 'Whose sessions must show again who they are, after 15 minutes, before what could cost dearly: of every account, or of those with a second factor. Default: always in live mode, with_second_factor in sandbox mode.',
  }),
  CALLS_AT_ONCE_MAX: limit({
    fallback: 200,
    doc: 'Calls to models that one payer may have running at a time in one process.',
  }),
  APPS_PER_ACCOUNT_MAX: limit({ fallback: 100, doc: 'Most apps of one account at a time.' }),
  WEBHOOKS_PER_ACCOUNT_MAX: limit({
    fallback: 100,
    doc: 'Most webhooks of one account at a time.',
  }),
  KEYS_PER_ACCOUNT_MAX: limit({ fallback: 1000, doc: 'Most API keys of one account at a time.' }),
  ...providerSettings('OPENAI', 'https://api.openai.com/v1'),
  ...providerSettings('ANTHROPIC', 'https://api.anthropic.com'),
  ...providerSettings('GOOGLE', 'https://generativelanguage.googleapis.com'),
  ...providerSettings('ELEVENLABS', 'https://api.elevenlabs.io'),
  STRIPE_SECRET_KEY: optionalText({
    secret: true,
    doc: 'Key of the payment processor. Without it payouts and top-ups use the sandbox, or in live mode answer 503.',
  }),
  STRIPE_BASE_URL: url({
    protocols: ['http:', 'https:'],
    doc: 'Where the payment processor is: scheme, host and port. Default: https://api.stripe.com',
  }),
  STRIPE_WEBHOOK_SECRET: optionalText({
    secret: true,
    doc: 'Signs the events of your own account that Stripe sends to /webhooks/stripe. Without it nobody can top up.',
  }),
  STRIPE_CONNECT_WEBHOOK_SECRET: optionalText({
    secret: true,
    doc: 'Signs the events of connected accounts that Stripe sends to /webhooks/stripe.',
  }),
  STRIPE_TIMEOUT_MS: integer({
    fallback: 20_000,
    min: 100,
    max: 80_000,
    doc: 'How long one request to Stripe may take. Where a person waits it is half of that, and is tried twice.',
  }),
  TOPUP_MIN_USD: integer({
    fallback: 5,
    min: 1,
    max: 100_000,
    doc: 'The least that one top-up costs, in dollars.',
  }),
  TOPUP_MAX_USD: integer({
    fallback: 1_000,
    min: 1,
    max: 100_000,
    doc: 'The most that one top-up costs, in dollars.',
  }),
  PROVIDER_TIMEOUT_MS: integer({
    fallback: 120_000,
    min: 100,
    max: 3_600_000,
    doc: 'How long a provider may take to begin its answer; a call that is not streamed may take 600000.',
  }),
  PROVIDER_IDLE_TIMEOUT_MS: integer({
    fallback: 120_000,
    min: 100,
    max: 3_600_000,
    doc: 'How long a provider may be silent between two pieces of an answer.',
  }),
  SERVICE_FEE_PERCENT: percent({
    fallback: 0,
    doc: 'The service’s own margin on the provider’s price.',
  }),
  CATALOG_FILE: optionalText({ doc: 'JSON that overrides or adds models and prices.' }),
  MODEL_SUCCESSORS: optionalChoice(['on', 'off'] as const, {
    doc: 'Whether the successor of a model that its provider has shut down serves its name, at the successor’s price. Default: on in live mode, off in sandbox mode, whose stand-ins shut nothing down. Off in live mode: such a model answers 503.',
  }),
  SMTP_URL: url({
    protocols: ['smtp:', 'smtps:'],
    secret: true,
    doc: 'Mail server, for example smtp://user:password@mail.example.com:587. Without it mail is kept in DATA_DIR/mail; live mode needs it.',
  }),
  MAIL_FROM: text({ fallback: 'Svc <no-reply@localhost>', doc: 'Sender of mail.' }),
  TRUST_PROXY: networks({
    doc: 'CIDR ranges of the proxies that may set X-Forwarded-For, separated by commas.',
  }),
  METRICS_TOKEN: optionalText({
    secret: true,
    doc: 'Bearer token of /metrics. Without it /metrics answers loopback callers only. In live mode at least 24 characters.',
  }),
  SECRET_SCANNING_KEYS: optionalText({
    doc: 'Public keys that sign reports to /v1/keys/leaked, in PEM, or the file that holds them: what https://api.github.com/meta/public_keys/secret_scanning answers. Reports without a signature are taken too.',
  }),
  LOG_LEVEL: choice(LOG_LEVELS, { fallback: 'info', doc: 'How much is logged.' }),
  DRAIN_MS: integer({
    fallback: 1000,
    min: 0,
    max: 600_000,
    doc: 'After SIGTERM: how long /ready says 503 before the port closes. 5000 behind a load balancer.',
  }),
  SHUTDOWN_GRACE_MS: integer({
    fallback: 120_000,
    min: 0,
    max: 3_600_000,
    doc: 'After SIGTERM: how long running requests and streams may take to end.',
  }),
} as const

type ProviderSettings<Name extends string> = {
  readonly [Key in `${Name}_API_KEY` | `${Name}_BASE_URL`]: Setting<string | undefined>
}

function providerSettings<Name extends string>(name: Name, own: string): ProviderSettings<Name> {
  return {
    [`${name}_API_KEY`]: optionalText({
      secret: true,
      doc: `Credential of the provider. Without it the model is served by the sandbox, or in live mode not at all.`,
    }),
    [`${name}_BASE_URL`]: url({
      protocols: ['http:', 'https:'],
      doc: `Where the provider is. Default: ${own}`,
    }),
  } as ProviderSettings<Name>
}
