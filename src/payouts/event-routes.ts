// POST /webhooks/stripe: what Stripe tells us. Its signature is the credential.

import { Type } from 'typebox'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { type EventParts, receiveEvent } from './stripe-events.ts'

const BODY_LIMIT_BYTES = 1_000_000

export function stripeEventRoutes(app: App, parts: EventParts): void {
  app.post(
    '/webhooks/stripe',
    {
      bodyLimit: BODY_LIMIT_BYTES,
      config: {
        access: 'public',
        unlimited: true,
        raw_body: true,
        errors: ['bad_request', 'stripe_error', 'provider_misconfigured'],
      },
      schema: {
        tags: ['Operations'],
        operationId: 'receive_stripe_event',
        summary: 'Events of Stripe',
        description:
          'For Stripe only: signed with `Stripe-Signature`, not older than five minutes. Point both of your endpoints there, that of your account and that of connected accounts. Exempt from rate limits.',
        response: { 200: Type.Object({ received: Type.Literal(true) }) },
      },
    },
    async (request) => {
      const { body } = request
      const signature = request.headers['stripe-signature']
      if (typeof body !== 'string' || typeof signature !== 'string') {
        throw new ApiError('bad_request', { message: 'This is not signed by Stripe.' })
      }
      await receiveEvent(parts, { body, signature })
      return { received: true as const }
    },
  )
}
