// The catalogue of events as the OpenAPI document has it: under `webhooks`, each with its envelope and an example.

import type { PathItem } from '../http/reference/document.ts'
import {
  EVENT_TYPE_NAMES,
  EVENT_TYPES,
  type EventType,
  envelopeOf,
  eventBody,
} from './event-types.ts'

const EXAMPLE_ID = '01989f2e-7c1a-8a02-9d7e-2f6f0d1c5a10'
const EXAMPLE_TIME = '2026-11-15T09:30:00.000Z'

const HEADERS = {
  'X-Svc-Event': 'The type of the event.',
  'X-Svc-Signature': 'HMAC-SHA256 of the body in hex. The key is the whole text of the secret.',
  'X-Svc-Signature-Next': 'The same with the new secret, while a rotation is under way.',
  'webhook-id': 'The id of the event: as `id` in the body.',
  'webhook-timestamp': 'Unix seconds of this attempt.',
  'webhook-signature':
    'As Standard Webhooks have it: `v1,` and the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` in base64; two with a space between them while a rotation is under way.',
}
const OPTIONAL_HEADER = 'X-Svc-Signature-Next'

/** The `webhooks` of the document. As plain JSON: schemas carry marks that are no part of it. */
export function describeEvents(): Record<string, PathItem> {
  const items = EVENT_TYPE_NAMES.map((type) => [type, { post: describeEvent(type) }])
  return JSON.parse(JSON.stringify(Object.fromEntries(items))) as Record<string, PathItem>
}

function describeEvent(type: EventType) {
  return {
    operationId: `event_${type.replace('.', '_')}`,
    summary: type,
    description: EVENT_TYPES[type].summary,
    tags: ['Events'],
    security: [],
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      in: 'header',
      name,
      required: name !== OPTIONAL_HEADER,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: envelopeOf(type), example: exampleEvent(type) } },
    },
    responses: {
      '2XX': { description: 'Delivered, if it comes within 10 seconds.' },
      '410': { description: 'Not wanted: no further attempt is made.' },
      default: { description: 'Failed; it is sent again later.' },
    },
  }
}

/** As it would be sent. */
export function exampleEvent(type: EventType): unknown {
  const { example: data } = EVENT_TYPES[type]
  return JSON.parse(eventBody({ id: EXAMPLE_ID, type, created_at: new Date(EXAMPLE_TIME), data }))
}
