// /account/factors: the second factors of an account, for its sessions.

import { Type } from 'typebox'
import { sessionOf } from '../../http/access.ts'
import { Id, Nullable, Success, Text, Timestamp } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import { requireFreshProof } from '../step-up.ts'
import { askerOf, PasskeyOptions } from '../step-up-routes.ts'
import {
  type Added,
  addPasskey,
  beginPasskey,
  beginTotp,
  confirmTotp,
  type FactorParts,
  listFactors,
  removeFactor,
  renewRecoveryCodes,
} from './factors.ts'
import { Registration } from './passkey-schemas.ts'
import type { FactorRow } from './store.ts'

const TAGS = ['Second factor']

const Factor = Type.Object({
  id: Id,
  kind: Type.Enum(['totp', 'passkey']),
  name: Type.String({ examples: ['My phone'] }),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
})

const RecoveryCodes = Type.Array(Type.String({ examples: ['k7m2qa-0v9x4n-hs3d8w-5yt1bc'] }), {
  description: 'Each is good once, in place of the factor. Shown once, stored nowhere.',
})

const AddedFactor = Type.Object({
  factor: Factor,
  recovery_codes: Nullable(RecoveryCodes),
})

const CODES_COME_ONCE =
  'With the first factor of an account come ten recovery codes, this once; with a later one `recovery_codes` is null.'

export function factorRoutes(app: App, parts: FactorParts): void {
  app.get(
    '/account/factors',
    {
      config: { access: 'session' },
      schema: {
        tags: TAGS,
        operationId: 'list_factors',
        summary: 'List second factors',
        description: 'Without secrets. An empty list: the password alone signs in.',
        response: {
          200: Type.Object({ data: Type.Array(Factor), recovery_codes_left: Type.Integer() }),
        },
      },
    },
    async (request) => {
      const { factors, recovery_codes_left } = await listFactors(
        parts.db,
        sessionOf(request).account_id,
      )
      return { data: factors.map(presentFactor), recovery_codes_left }
    },
  )
  totpRoutes(app, parts)
  passkeyRoutes(app, parts)
  app.delete(
    '/account/factors/:id',
    {
      config: { access: 'session', errors: ['not_found', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'remove_factor',
        summary: 'Remove a second factor',
        description:
          'Needs a proof of the last 15 minutes. With the last factor the recovery codes end too.',
        params: Type.Object({ id: Type.String() }),
        response: { 200: Success },
      },
    },
    async (request) => {
      requireFreshProof(parts, sessionOf(request))
      await removeFactor(parts, askerOf(request), request.params.id)
      return { success: true as const }
    },
  )
  app.post(
    '/account/factors/recovery-codes',
    {
      config: { access: 'session', errors: ['bad_request', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'renew_recovery_codes',
        summary: 'Make new recovery codes',
        description: 'The old ones end. Needs a proof of the last 15 minutes.',
        response: { 201: Type.Object({ recovery_codes: RecoveryCodes }) },
      },
    },
    async (request, reply) => {
      requireFreshProof(parts, sessionOf(request))
      const recovery_codes = await renewRecoveryCodes(parts, askerOf(request))
      reply.code(201)
      return { recovery_codes }
    },
  )
}

function totpRoutes(app: App, parts: FactorParts): void {
  app.post(
    '/account/factors/totp',
    {
      config: { access: 'session', errors: ['bad_request', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'begin_totp',
        summary: 'Begin to add an authenticator app',
        description:
          'Nothing is asked of you until a code of the app has confirmed it, within 5 minutes. Needs a proof of the last 15 minutes.',
        response: {
          200: Type.Object({
            secret: Type.String({ examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'] }),
            otpauth_uri: Type.String({ examples: ['otpauth://totp/Svc:ada%40example.com?…'] }),
            qr_svg: Type.String({ description: 'The same as a picture.', examples: ['<svg …>'] }),
            expires_at: Timestamp,
          }),
        },
      },
    },
    async (request) => {
      requireFreshProof(parts, sessionOf(request))
      const begun = await beginTotp(parts, askerOf(request))
      return { ...begun, expires_at: begun.expires_at.toISOString() }
    },
  )
  app.post(
    '/account/factors/totp/confirm',
    {
      config: { access: 'session', errors: ['bad_request', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'confirm_totp',
        summary: 'Add the authenticator app',
        description: `With a code that it shows. ${CODES_COME_ONCE}`,
        body: Type.Object({ code: Text({ max: 20, examples: ['123456'] }) }),
        response: { 201: AddedFactor },
      },
    },
    async (request, reply) => {
      requireFreshProof(parts, sessionOf(request))
      const added = await confirmTotp(parts, askerOf(request), request.body.code)
      reply.code(201)
      return presentAdded(added)
    },
  )
}

function passkeyRoutes(app: App, parts: FactorParts): void {
  app.post(
    '/account/factors/passkeys/options',
    {
      config: { access: 'session', errors: ['bad_request', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'begin_passkey',
        summary: 'Begin to add a passkey',
        description:
          'The options for `navigator.credentials.create()`. Good once, for 5 minutes. Needs a proof of the last 15 minutes.',
        response: { 200: Type.Object({ options: PasskeyOptions, expires_at: Timestamp }) },
      },
    },
    async (request) => {
      requireFreshProof(parts, sessionOf(request))
      const { options, expires_at } = await beginPasskey(parts, askerOf(request))
      return { options, expires_at: expires_at.toISOString() }
    },
  )
  app.post(
    '/account/factors/passkeys',
    {
      config: { access: 'session', errors: ['bad_request', 'step_up_required'] },
      schema: {
        tags: TAGS,
        operationId: 'add_passkey',
        summary: 'Add the passkey',
        description: `\`response\` is what \`credential.toJSON()\` gives. ${CODES_COME_ONCE}`,
        body: Type.Object({
          name: Text({ min: 1, max: 100, description: 'For your own eyes.', examples: ['Laptop'] }),
          response: Registration,
        }),
        response: { 201: AddedFactor },
      },
    },
    async (request, reply) => {
      requireFreshProof(parts, sessionOf(request))
      const added = await addPasskey(parts, askerOf(request), request.body)
      reply.code(201)
      return presentAdded(added)
    },
  )
}

function presentAdded({ factor, recovery_codes }: Added) {
  return { factor: presentFactor(factor), recovery_codes }
}

function presentFactor(row: FactorRow) {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  }
}
