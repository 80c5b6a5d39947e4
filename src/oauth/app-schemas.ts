// What /developers/apps takes and shows.

import { Type } from 'typebox'
import { Id, Nullable, Text, Timestamp } from '../http/schemas.ts'
import { CLIENT_TYPES } from './client-types.ts'
import { SCOPES } from './scopes.ts'

const Name = Text({
  min: 1,
  max: 100,
  description: 'Users read it when they are asked for consent.',
  examples: ['Poem Machine'],
})
const ClientTypeName = Type.Enum([...CLIENT_TYPES], {
  description:
    'Where the app runs: `web_server` keeps a secret; `browser` (a page without a server) and `native` (a program on the user’s machine) have none. Cannot be changed.',
  examples: ['web_server'],
})
const RedirectUris = Type.Array(Type.String({ maxLength: 4096 }), {
  description:
    'Where users return to: https://, or http://localhost and http://127.0.0.1 with any port; for a native app also http://[::1] and a scheme of its own (`com.example.app:/callback`). Compared exactly.',
  examples: [['https://app.example.com/callback', 'http://localhost:3000/callback']],
})
const Origins = Type.Array(Type.String({ maxLength: 1024 }), {
  description:
    'Pages that may call with the app’s tokens, beside the origins of its redirect URIs; at most 10.',
  examples: [['capacitor://localhost']],
})
const DeviceGrant = Type.Boolean({
  description: 'Whether users may sign in on another device (RFC 8628); native apps only.',
  examples: [false],
})
const AllowedScopes = Type.Array(Type.Enum([...SCOPES]), {
  description: 'The most that the app may ask for.',
  uniqueItems: true,
  minItems: 1,
  examples: [['credits.read', 'credits.spend']],
})
const MarkupPercent = Type.Number({
  minimum: 0,
  maximum: 100,
  description:
    'What you earn on top of the price of each call that a user pays for; two decimals. Users see it.',
  examples: [20],
})

const RequireExternalUserId = Type.Boolean({
  description:
    'With hosted storage: POST /oauth/token makes a link only if it carries the `external_user_id`. Recommended.',
  examples: [true],
})

export const AppDescription = Type.Object({
  id: Id,
  name: Name,
  client_id: Type.String({ examples: ['svc_client_2f6f0d1c5a10'] }),
  client_type: ClientTypeName,
  redirect_uris: RedirectUris,
  origins: Origins,
  device_grant: DeviceGrant,
  allowed_scopes: AllowedScopes,
  markup_percent: MarkupPercent,
  require_external_user_id: RequireExternalUserId,
  previous_secret_expires_at: Nullable(Timestamp),
  suspended_at: Nullable(Timestamp),
  suspended_reason: Nullable(Type.String()),
  created_at: Timestamp,
})

export const AppWithUsers = Type.Object({
  ...AppDescription.properties,
  connected_users: Type.Integer({
    description: 'Who would lose the connection if the app were deleted; counted up to 10,000.',
    examples: [12],
  }),
})

export const AppWithSecret = Type.Object({
  ...AppDescription.properties,
  client_secret: Type.String({
    description: 'Shown once, stored nowhere.',
    examples: ['svc_secret_7c1a7b3e9d7e'],
  }),
})

export const RegisteredApp = Type.Object({
  ...AppDescription.properties,
  client_secret: Type.Optional(AppWithSecret.properties.client_secret),
})

export const NewApp = Type.Object({
  name: Name,
  client_type: Type.Optional(ClientTypeName),
  redirect_uris: RedirectUris,
  origins: Type.Optional(Origins),
  device_grant: Type.Optional(DeviceGrant),
  allowed_scopes: Type.Optional(AllowedScopes),
  markup_percent: Type.Optional(MarkupPercent),
  require_external_user_id: Type.Optional(RequireExternalUserId),
})

export const AppChange = Type.Partial(NewApp)

/** May be left out. */
export const Rotation = Nullable(
  Type.Object({
    overlap_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 72,
        description:
          'How long the secret before stays good beside the new one. 0, as without it: it ends at once.',
        examples: [24],
      }),
    ),
  }),
)
export const AppParams = Type.Object({ id: Type.String() })
