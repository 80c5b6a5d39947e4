// The HTTP application: what every request passes, then every domain's routes, in a visible order.

import { addAuthentication } from './access/authenticate.ts'
import { resolvePayer } from './access/payer.ts'
import { addSessionRecheck } from './access/session-recheck.ts'
import { closingRoutes } from './accounts/closing/routes.ts'
import { emailChangeRoutes } from './accounts/email-change/routes.ts'
import { factorRoutes } from './accounts/factors/routes.ts'
import { authRoutes } from './accounts/routes.ts'
import { securityLogRoutes } from './accounts/security-log/routes.ts'
import { sessionListRoutes } from './accounts/session-routes.ts'
import { stepUpRoutes } from './accounts/step-up-routes.ts'
import { catalogRoutes } from './catalog/routes.ts'
import type { Parts } from './compose.ts'
import { accessEnder, browserGrantEnder } from './end-access.ts'
import { describeEvents } from './events/event-docs.ts'
import { fundingRoutes } from './funding/routes.ts'
import { audioRoutes } from './gateway/audio/routes.ts'
import { embeddingRoutes } from './gateway/embeddings/routes.ts'
import { playgroundRoutes } from './gateway/playground-routes.ts'
import { responsesRoutes } from './gateway/responses-routes.ts'
import { gatewayRoutes } from './gateway/routes.ts'
import { consoleRoutes } from './http/console-routes.ts'
import { addCors } from './http/cors.ts'
import { docsRoutes } from './http/docs-routes.ts'
import { healthRoutes } from './http/health-routes.ts'
import { buildDocument, collectRoutes } from './http/openapi.ts'
import type { OpenApiDocument } from './http/reference/document.ts'
import { sdkRoutes } from './http/sdk-routes.ts'
import { type App, addMethodNotAllowed, createHttpServer } from './http/server.ts'
import { leakRoutes } from './keys/leak-routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { isLoopback, settingWarnings } from './live-settings.ts'
import { appRoutes } from './oauth/app-routes.ts'
import { appUserRoutes } from './oauth/app-user-routes.ts'
import { authorizeRoutes } from './oauth/authorize-routes.ts'
import { connectionRoutes } from './oauth/connection-routes.ts'
import { devicePages } from './oauth/device/page-routes.ts'
import { deviceRoutes } from './oauth/device/routes.ts'
import { readConnectedUser, readLinkedUser } from './oauth/links.ts'
import { protocolRoutes } from './oauth/protocol-routes.ts'
import { secondFactorPages } from './oauth/second-factor-routes.ts'
import { securityPages } from './oauth/security-routes.ts'
import { sessionPageRoutes } from './oauth/session-page-routes.ts'
import { signInRoutes } from './oauth/sign-in-routes.ts'
import { readOpenEarnings } from './open-earnings.ts'
import { type OperatorRouteParts, operatorRoutes } from './operators/routes.ts'
import { payoutAccountRoutes } from './payouts/account-routes.ts'
import { earningsRoutes } from './payouts/earnings-routes.ts'
import { payoutEventHandlers } from './payouts/event-handlers.ts'
import { stripeEventRoutes } from './payouts/event-routes.ts'
import { canTopUp, describeService } from './service-description.ts'
import { topupEventHandlers } from './topups/event-handlers.ts'
import { topupRoutes } from './topups/routes.ts'
import { accountRoutes } from './usage/account-routes.ts'
import { attentionRoutes } from './usage/attention-routes.ts'
import { callRoutes } from './usage/call-routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { VERSION } from './version.ts'
import { walletRoutes } from './wallet/routes.ts'
import { deliveryRoutes } from './webhooks/delivery-routes.ts'
import { listenRoutes } from './webhooks/listen-routes.ts'
import { webhookName } from './webhooks/names.ts'
import { pauseWebhook, recoverWebhook } from './webhooks/operator.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export type AppOptions = {
  /** What /metrics answers; by default what this process has counted. */
  readMetrics?: () => Promise<string>
  wakeMailSender?: () => void
  request_timeout_ms?: number
  /** Routes of a test or a benchmark, under the same roof as ours. */
  addRoutes?: (app: App) => void
}

export async function buildApp(parts: Parts, options: AppOptions = {}): Promise<App> {
  const { config } = parts
  const public_url = config.PUBLIC_URL
  const { app, routes } = await openApp(parts, options)
  let document: OpenApiDocument | undefined
  docsRoutes(app, () => (document ??= buildDocument(app, routes, describeEvents())), public_url)
  sdkRoutes(app)
  consoleRoutes(app, { public_url, mode: config.SVC_MODE })
  const account_parts = accountParts(parts, options)
  identityRoutes(app, account_parts)
  appRoutes(app, { ...parts, apps_per_account_max: config.APPS_PER_ACCOUNT_MAX })
  appUserRoutes(app, parts)
  oauthRoutes(app, account_parts)
  walletRoutes(app, { ...parts, resolvePayer: (request) => resolvePayer(parts, request) })
  fundingRoutes(app, {
    ...parts,
    promotional_credits: config.PROMOTIONAL_CREDITS,
    readLinkedUser,
    readConnectedUser,
  })
  const webhook_parts = {
    ...parts,
    url_rules: parts.webhook_client.rules,
    webhooks_per_account_max: config.WEBHOOKS_PER_ACCOUNT_MAX,
  }
  webhookRoutes(app, webhook_parts)
  listenRoutes(app, webhook_parts)
  deliveryRoutes(app, { ...parts, wakeSenders: parts.delivery_wake.wake })
  moneyRoutes(app, parts, account_parts.wakeMailSender)
  accountRoutes(app, { ...parts, described: describeService(config) })
  attentionRoutes(app, { ...parts, webhookName })
  usageRoutes(app, parts)
  callRoutes(app, parts)
  earningsRoutes(app, parts)
  catalogRoutes(app, parts)
  operatorRoutes(app, operatorParts(parts, account_parts.wakeMailSender))
  const gateway_parts = { ...parts, public_url, ledger: () => parts.call_ledger }
  gatewayRoutes(app, gateway_parts)
  responsesRoutes(app, gateway_parts)
  embeddingRoutes(app, gateway_parts)
  audioRoutes(app, gateway_parts)
  playgroundRoutes(app, gateway_parts)
  options.addRoutes?.(app)
  addMethodNotAllowed(app, routes)

  await app.ready()
  return app
}

type AccountParts = ReturnType<typeof accountParts>

function accountParts(parts: Parts, options: AppOptions) {
  const { config } = parts
  return {
    ...parts,
    public_url: config.PUBLIC_URL,
    welcome_credits: config.WELCOME_CREDITS,
    verified_credits: config.VERIFIED_CREDITS,
    password_policy: config.PASSWORD_POLICY,
    login_limit: config.LOGIN_LIMIT_PER_MINUTE,
    secure_cookies: config.PUBLIC_URL.startsWith('https:'),
    endAccess: accessEnder(parts),
    endBrowserGrants: browserGrantEnder(parts),
    wakeMailSender: options.wakeMailSender ?? (() => {}),
    // At a public address anybody could otherwise confirm somebody else's.
    shows_mail_links:
      config.SVC_MODE === 'sandbox' &&
      config.SMTP_URL === undefined &&
      isLoopback(config.PUBLIC_URL),
  }
}

/** Accounts, and the keys that act for them. */
function identityRoutes(app: App, parts: AccountParts): void {
  const { config } = parts
  authRoutes(app, parts)
  emailChangeRoutes(app, parts)
  closingRoutes(app, { ...parts, readOpenEarnings })
  sessionListRoutes(app, parts)
  securityLogRoutes(app, parts)
  stepUpRoutes(app, parts)
  factorRoutes(app, parts)
  keyRoutes(app, {
    ...parts,
    keys_per_account_max: config.KEYS_PER_ACCOUNT_MAX,
    rate_limit_per_minute: config.RATE_LIMIT_PER_MINUTE,
  })
  leakRoutes(app, parts)
}

/** The pages of people, and what OAuth libraries call. */
function oauthRoutes(app: App, parts: AccountParts): void {
  signInRoutes(app, parts)
  secondFactorPages(app, parts)
  securityPages(app, parts)
  authorizeRoutes(app, parts)
  protocolRoutes(app, parts)
  deviceRoutes(app, parts)
  devicePages(app, parts)
  connectionRoutes(app, parts)
  sessionPageRoutes(app, parts)
}

/** Where money comes in and goes out. */
function moneyRoutes(app: App, parts: Parts, wakeMailSender: () => void): void {
  const { config } = parts
  const public_url = config.PUBLIC_URL
  const secrets = [config.STRIPE_WEBHOOK_SECRET, config.STRIPE_CONNECT_WEBHOOK_SECRET]
  payoutAccountRoutes(app, { ...parts, public_url })
  topupRoutes(app, {
    ...parts,
    public_url,
    processor: canTopUp(config) ? parts.processor : undefined,
    min_cents: BigInt(config.TOPUP_MIN_USD) * 100n,
    max_cents: BigInt(config.TOPUP_MAX_USD) * 100n,
    wakeMailSender,
  })
  stripeEventRoutes(app, {
    ...parts,
    secrets: secrets.filter((secret) => secret !== undefined),
    handlers: {
      ...payoutEventHandlers(parts),
      ...topupEventHandlers({ ...parts, wakeMailSender }),
    },
  })
}

/** What the pages of operators need of folders that `operators` does not import. */
function operatorParts(parts: Parts, wakeMailSender: () => void): OperatorRouteParts {
  const { config, upstreams, elevenlabs, model_watch } = parts
  const webhook_parts = { ...parts, wakeSenders: parts.delivery_wake.wake, wakeMailSender }
  return {
    ...parts,
    about: { role: config.ROLE, mode: config.SVC_MODE, version: VERSION },
    service_fee_percent: config.SERVICE_FEE_PERCENT / 100,
    readWarnings: warningsOf(parts),
    findings: () => model_watch.findings(),
    hasKey: (provider) =>
      provider === 'elevenlabs'
        ? elevenlabs !== undefined
        : upstreams[provider].address !== undefined,
    webhookName,
    pauseWebhook: (tx, act) => pauseWebhook(webhook_parts, tx, act),
    recoverWebhook: (tx, act) => recoverWebhook(webhook_parts, tx, act),
  }
}

/** Settings that are dangerous, and what the watch on models has found. */
function warningsOf({ config, model_watch }: Parts): () => string[] {
  const setting_warnings = settingWarnings(config)
  return () => [...setting_warnings, ...model_watch.warnings()]
}

/** What a process without the API serves. */
export async function buildProbes(parts: Parts, options: AppOptions): Promise<App> {
  const { app, routes } = await openApp(parts, options)
  addMethodNotAllowed(app, routes)
  await app.ready()
  return app
}

/** What every process serves: its probes, under the rules that all routes share. */
async function openApp(parts: Parts, options: AppOptions) {
  const { config, metrics } = parts
  const public_url = config.PUBLIC_URL
  const app = createHttpServer({
    ...parts,
    public_url,
    trust_proxy: config.TRUST_PROXY,
    ...(options.request_timeout_ms !== undefined && {
      request_timeout_ms: options.request_timeout_ms,
    }),
  })
  const routes = await collectRoutes(app, public_url)
  addCors(app, parts)
  addAuthentication(app, { ...parts, public_url })
  addSessionRecheck(app, parts)
  const readMetrics = options.readMetrics ?? (() => metrics.registry.metrics())
  healthRoutes(app, {
    ...parts,
    metrics_token: config.METRICS_TOKEN,
    behind_proxy: config.TRUST_PROXY.length > 0,
    readMetrics,
    readWarnings: warningsOf(parts),
  })
  return { app, routes }
}
