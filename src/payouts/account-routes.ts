// /developers/connect: the account that a developer is paid to. The session cookie only.

import { Type } from 'typebox'
import { clientOf } from '../accounts/sessions.ts'
import { needsProof, requireRecentProof, type StepUpParts } from '../accounts/step-up.ts'
import { type RoutePolicy, sessionOf } from '../http/access.ts'
import { renderNotice, sendPage } from '../http/page.ts'
import { Nullable, ReturnPath } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import {
  continueOnboarding,
  isOnboarded,
  openDashboard,
  type PayoutAccountParts,
  type PayoutAccountRow,
  readStatus,
  startOnboarding,
} from './accounts.ts'

const TAGS = ['Payouts']

export const PAYOUT_POLICY = {
  access: 'session',
  cookie_only: true,
  denied: 'unauthorized',
} as const satisfies RoutePolicy

/** What leads to where the money goes needs a recent proof. */
const GUARDED_ERRORS = ['stripe_error', 'provider_misconfigured', 'step_up_required'] as const

const OnboardingUrl = Type.String({
  description: 'A page of the processor. Opens once, for a few minutes.',
  examples: ['https://connect.stripe.com/setup/e/acct_1/abc'],
})
const AccountId = Type.String({ examples: ['acct_1Nv0FGQ9RKHgCVdK'] })

const Status = Type.Object({
  connected: Type.Boolean({ description: 'When false, no other field is there.' }),
  stripe_account_id: Type.Optional(AccountId),
  charges_enabled: Type.Optional(Type.Boolean()),
  payouts_enabled: Type.Optional(
    Type.Boolean({ description: 'While false, nothing is paid out; earnings stay.' }),
  ),
  details_submitted: Type.Optional(Type.Boolean()),
  onboarding_completed: Type.Optional(
    Type.Boolean({ description: 'Details are submitted and payouts enabled.' }),
  ),
  country: Type.Optional(Type.String({ examples: ['US'] })),
  default_currency: Type.Optional(Type.String({ examples: ['usd'] })),
  disabled_reason: Type.Optional(Nullable(Type.String({ examples: ['rejected.fraud'] }))),
  requirements_due: Type.Optional(
    Type.Array(Type.String({ examples: ['external_account'] }), {
      description: 'What the processor wants to have now, by its own names; at most 50.',
    }),
  ),
})

/** May be left out. */
const WayBack = Nullable(Type.Object({ return_to: Type.Optional(ReturnPath) }))

export function payoutAccountRoutes(app: App, parts: PayoutAccountParts & StepUpParts): void {
  app.post(
    '/developers/connect/onboard',
    {
      config: { ...PAYOUT_POLICY, errors: ['already_connected', ...GUARDED_ERRORS] },
      schema: {
        tags: TAGS,
        operationId: 'start_onboarding',
        summary: 'Make a payout account',
        body: WayBack,
        response: {
          201: Type.Object({ onboarding_url: OnboardingUrl, stripe_account_id: AccountId }),
        },
      },
    },
    async (request, reply) => {
      requireRecentProof(parts, sessionOf(request))
      const owner = { ...sessionOf(request), client: clientOf(request) }
      const started = await startOnboarding(parts, owner, request.body?.return_to)
      reply.code(201)
      return started
    },
  )
  app.post(
    '/developers/connect/onboard/refresh',
    {
      config: { ...PAYOUT_POLICY, errors: ['not_found', ...GUARDED_ERRORS] },
      schema: {
        tags: TAGS,
        operationId: 'refresh_onboarding',
        summary: 'Get another onboarding link',
        body: WayBack,
        response: { 200: Type.Object({ onboarding_url: OnboardingUrl }) },
      },
    },
    (request) => {
      requireRecentProof(parts, sessionOf(request))
      const { account_id } = sessionOf(request)
      return continueOnboarding(parts, account_id, request.body?.return_to)
    },
  )
  app.get(
    '/developers/connect/status',
    {
      config: PAYOUT_POLICY,
      schema: {
        tags: TAGS,
        operationId: 'payout_status',
        summary: 'Read the payout account',
        description:
          'Asked of the processor; when that cannot be reached, what it said last is answered.',
        response: { 200: Status },
      },
    },
    async (request) => presentStatus(await readStatus(parts, sessionOf(request).account_id)),
  )
  app.post(
    '/developers/connect/dashboard-link',
    {
      config: {
        ...PAYOUT_POLICY,
        errors: ['onboarding_incomplete', 'not_found', ...GUARDED_ERRORS],
      },
      schema: {
        tags: TAGS,
        operationId: 'payout_dashboard',
        summary: 'Open the processor’s dashboard',
        response: {
          200: Type.Object({
            dashboard_url: Type.String({
              description: 'Opens once, soon.',
              examples: ['https://connect.stripe.com/express/acct_1/abc'],
            }),
          }),
        },
      },
    },
    (request) => {
      requireRecentProof(parts, sessionOf(request))
      return openDashboard(parts, sessionOf(request).account_id)
    },
  )
  wayBackRoutes(app, parts)
}

/** Where the processor's pages send people. */
function wayBackRoutes(app: App, parts: PayoutAccountParts & StepUpParts): void {
  app.get(
    '/developers/connect/return',
    { config: { access: 'public', page: true }, schema: { hide: true } },
    (_request, reply) =>
      sendPage(
        reply,
        renderNotice({
          title: 'Back from Stripe',
          text: 'What you have told Stripe is being looked at. You may close this page.',
          hint: 'GET /developers/connect/status says whether you can be paid.',
        }),
      ),
  )
  // A link that was used or is too old leads here: whoever is signed in goes on with a fresh one.
  app.get(
    '/developers/connect/refresh',
    { config: { ...PAYOUT_POLICY, page: true }, schema: { hide: true } },
    async (request, reply) => {
      if (needsProof(parts, sessionOf(request))) {
        return reply.redirect('/oauth/step-up?for=payouts', 302)
      }
      const { onboarding_url } = await continueOnboarding(parts, sessionOf(request).account_id)
      return reply.redirect(onboarding_url, 303)
    },
  )
}

function presentStatus(account: PayoutAccountRow | undefined) {
  if (!account) return { connected: false }
  const { stripe_account_id, charges_enabled, payouts_enabled, details_submitted } = account
  return {
    connected: true,
    stripe_account_id,
    charges_enabled,
    payouts_enabled,
    details_submitted,
    onboarding_completed: isOnboarded(account),
    country: account.country ?? '',
    default_currency: account.default_currency ?? '',
    disabled_reason: account.disabled_reason,
    requirements_due: account.requirements_due,
  }
}
