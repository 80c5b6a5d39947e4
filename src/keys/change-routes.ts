// /developers/keys/:id: changes of a key that is in use.

import { Type } from 'typebox'
import { requireRecentProof, type StepUpParts } from '../accounts/step-up.ts'
import { sessionOf } from '../http/access.ts'
import { Nullable } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { changeKey, OVERLAP_HOURS_MAX, rotateKey } from './changes.ts'
import {
  IssuedKey,
  KeyDescription,
  KeyLimits,
  KeyName,
  presentKey,
  readLimits,
} from './key-record.ts'
import { type KeyParts, ownerOf, withSpendingOf } from './keys.ts'

const Params = Type.Object({ id: Type.String() })

/** May be left out. */
const Rotation = Nullable(
  Type.Object({
    overlap_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_HOURS_MAX,
        description: 'How long both secrets work. 0, as without it: the old one ends at once.',
        examples: [24],
      }),
    ),
  }),
)

export function keyChangeRoutes(
  app: App,
  parts: KeyParts & StepUpParts & { rate_limit_per_minute: number },
): void {
  app.patch(
    '/developers/keys/:id',
    {
      config: { access: 'session', errors: ['not_found'] },
      schema: {
        tags: ['API keys'],
        operationId: 'change_key',
        summary: 'Change a key',
        description:
          'What is absent stays as it is, null clears. Takes effect at once, on every machine within a second. Null for `spend_limit_credits` takes its period away too; an amount alone keeps the period. To take the spend limit away the session needs a fresh proof, as for rotation.',
        params: Params,
        body: Type.Object({ name: Type.Optional(KeyName), ...KeyLimits }),
        response: { 200: KeyDescription },
      },
    },
    async (request) => {
      const { name } = request.body
      const limits = readLimits(request.body, parts.rate_limit_per_minute)
      const change = { ...(name !== undefined && { name }), ...limits }
      const { spend_limit_credits: credits, spend_limit_period: period } = limits
      // As much as a new key without a limit.
      if (credits === null || period === null) requireRecentProof(parts, sessionOf(request))
      const row = await changeKey(parts, ownerOf(request), request.params.id, change)
      return presentKey(await withSpendingOf(parts, row), parts.clock.now())
    },
  )
  app.post(
    '/developers/keys/:id/rotate',
    {
      config: { access: 'session', errors: ['not_found'] },
      schema: {
        tags: ['API keys'],
        operationId: 'rotate_key',
        summary: 'Replace the secret of a key',
        description:
          'The key stays: its id, settings, spending and history. The secret before works until the overlap ends, or ends at once; of several rotations the newest two secrets work. Needs a session whose owner gave the password or a second factor in the last 15 minutes.',
        params: Params,
        body: Rotation,
        response: { 200: IssuedKey },
      },
    },
    async (request) => {
      requireRecentProof(parts, sessionOf(request))
      const overlap_hours = request.body?.overlap_hours ?? 0
      const rotated = await rotateKey(parts, ownerOf(request), request.params.id, overlap_hours)
      const row = await withSpendingOf(parts, rotated.row)
      return { key: rotated.key, ...presentKey(row, parts.clock.now()) }
    },
  )
}
