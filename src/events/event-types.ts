// Every event that a developer can be told of, in one table: its data, an example, and the sentence that explains it.
// The validation of webhooks, the test events, the OpenAPI document and docs/webhooks.md are made from it.

import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Timestamp } from '../http/schemas.ts'

const UserId = Type.String({
  description: 'Whose wallet it is: the end user, or the developer where the developer pays.',
})
const Email = Type.String({ description: 'The address of the user’s account.' })
const Model = Type.String({ description: 'The name that was asked for.' })
const Credits = Type.Integer({ description: 'Credits; 1,000,000 = $1.00.' })
const Tokens = Type.Integer({ minimum: 0 })

const USER_ID = '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'
const EMAIL = 'ada@example.com'
const TIME = '2026-11-15T09:30:00.000Z'

export const EVENT_TYPES = {
  'user.connected': {
    summary: 'A user connected their account to the app.',
    data: Type.Object({ user_id: UserId, connected_at: Timestamp, email: Email }),
    example: { user_id: USER_ID, connected_at: TIME, email: EMAIL },
  },
  'user.disconnected': {
    summary: 'A user, or the end of their last grant, disconnected them from the app.',
    data: Type.Object({ user_id: UserId, disconnected_at: Timestamp, email: Email }),
    example: { user_id: USER_ID, disconnected_at: TIME, email: EMAIL },
  },
  'balance.updated': {
    summary: 'A call changed the balance of its payer.',
    data: Type.Object({
      user_id: UserId,
      new_balance: Credits,
      amount_spent: Credits,
      model: Model,
      endpoint: Type.String({ description: 'The template of the route that was called.' }),
    }),
    example: {
      user_id: USER_ID,
      new_balance: 991_250,
      amount_spent: 8_750,
      model: 'gpt-4o-mini',
      endpoint: '/v1/chat/completions',
    },
  },
  'balance.low': {
    summary:
      'A balance fell below the webhook’s `low_balance_threshold`. Told once for each fall from at or above it.',
    data: Type.Object({ user_id: UserId, current_balance: Credits, threshold: Credits }),
    example: { user_id: USER_ID, current_balance: 99_120, threshold: 100_000 },
  },
  'usage.completed': {
    summary: 'A call ended and was charged.',
    data: Type.Object({
      user_id: UserId,
      model: Model,
      prompt_tokens: Tokens,
      completion_tokens: Tokens,
      total_tokens: Tokens,
      credits_used: Credits,
    }),
    example: {
      user_id: USER_ID,
      model: 'gpt-4o-mini',
      prompt_tokens: 120,
      completion_tokens: 480,
      total_tokens: 600,
      credits_used: 8_750,
    },
  },
} as const

export type EventType = keyof typeof EVENT_TYPES
export type EventData<T extends EventType = EventType> = {
  [K in T]: Static<(typeof EVENT_TYPES)[K]['data']>
}[T]

export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]

export function isEventType(name: string): name is EventType {
  return Object.hasOwn(EVENT_TYPES, name)
}

/** What is sent around the data of an event, as a schema. */
export function envelopeOf(type: EventType) {
  const { data, summary } = EVENT_TYPES[type]
  return Type.Object(
    {
      id: Type.String({ description: 'Unique for the event; the same in every attempt.' }),
      type: Type.Literal(type),
      created_at: Timestamp,
      data,
      test: Type.Optional(Type.Literal(true, { description: 'Only in events you asked for.' })),
    },
    { description: summary },
  )
}

export type Event = { id: string; type: EventType; created_at: Date; data: object; test?: true }

/** The bytes that are signed, stored and sent. */
export function eventBody({ id, type, created_at, data, test }: Event): string {
  return JSON.stringify({
    id: eventName(id),
    type,
    created_at: created_at.toISOString(),
    data,
    ...(test && { test }),
  })
}

/** How an event is called outside. */
export function eventName(id: string): string {
  return `evt_${id.replaceAll('-', '')}`
}

/**
 * An id that follows from what it is about: whoever derives it again gets the same one. UUID version 8, with the time
 * in front, so that ids sort as events do.
 */
export function deriveId(at: Date, about: string): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  const digest = hash('sha256', about, 'hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-8${digest.slice(0, 3)}-8${digest.slice(3, 6)}-${digest.slice(6, 18)}`
}
