// /auth/step-up: a session shows again who it belongs to, before what could cost its owner dearly.

import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Nullable, Text, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { Assertion } from './factors/passkey-schemas.ts'
import { requireOneProof } from './factors/proofs.ts'
import { Password } from './proof-routes.ts'
import { clientOf } from './sessions.ts'
import {
  askStepUp,
  STEP_UP_KINDS,
  type StepUpAsker,
  type StepUpWorkParts,
  stepUp,
} from './step-up.ts'

const TAGS = ['Second factor']

/** What `navigator.credentials` takes, as the WebAuthn specification writes it in JSON. */
export const PasskeyOptions = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'For `PublicKeyCredential.parse…OptionsFromJSON()`.',
})

export function stepUpRoutes(app: App, parts: StepUpWorkParts): void {
  app.post(
    '/auth/step-up/options',
    {
      config: { access: 'session' },
      schema: {
        tags: TAGS,
        operationId: 'step_up_options',
        summary: 'What can be shown',
        description:
          'With the options for a passkey, if the account has one. They are good once, for 5 minutes, and for this session.',
        response: {
          200: Type.Object({
            proofs: Type.Array(Type.Enum([...STEP_UP_KINDS])),
            passkey_options: Nullable(PasskeyOptions),
          }),
        },
      },
    },
    (request) => askStepUp(parts, askerOf(request)),
  )
  app.post(
    '/auth/step-up',
    {
      config: { access: 'session', errors: ['invalid_credentials', 'rate_limited'] },
      schema: {
        tags: TAGS,
        operationId: 'step_up',
        summary: 'Show again who you are',
        description:
          'With one of `password`, `totp` and `passkey`. For 15 minutes the session may then do what answers `step_up_required`. Passwords count together with changes of the password: 5 in 15 minutes.',
        body: Type.Object({
          password: Type.Optional(Password),
          totp: Type.Optional(Text({ max: 20, examples: ['123456'] })),
          passkey: Type.Optional(Assertion),
        }),
        response: {
          200: Type.Object({ success: Type.Literal(true), proved_until: Timestamp }),
        },
      },
    },
    async (request) => {
      requireOneProof(request.body, STEP_UP_KINDS)
      const { proved_until } = await stepUp(parts, askerOf(request), request.body)
      return { success: true as const, proved_until: proved_until.toISOString() }
    },
  )
}

export function askerOf(request: FastifyRequest): StepUpAsker {
  const { account_id, session_id } = sessionOf(request)
  return { account_id, session_id, client: clientOf(request) }
}
