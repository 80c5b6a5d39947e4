// /v1/webhooks/listen: the events of an app as a stream, for `svc webhooks listen`. Sessions only.

import { Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../events/event-types.ts'
import { sessionOf } from '../http/access.ts'
import { EventStream } from '../http/event-stream.ts'
import { Text } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { ListenParts } from './listen.ts'
import { POLICY, TAGS } from './routes.ts'
import { SECRET_PATTERN } from './signature.ts'

const DESCRIPTION = `Server-sent events, for a machine without a public address; \`svc webhooks listen\` reads them.

- \`listening\`, once: \`id\`, \`client_id\`, \`events\`, and the \`secret\` that signs what follows.
- \`delivery\`: \`id\`, \`event_id\`, \`event_type\`, and the \`headers\` and \`body\` that a webhook would be sent.
- \`end\`: a \`reason\`: \`session_ended\`, \`removed\`, \`time_limit\` (24 hours), \`stopping\` or \`unavailable\`.

What happens while no stream is open is not told later. An account has at most 10 streams.`

export function listenRoutes(app: App, parts: ListenParts): void {
  // Streams that last for hours must not hold up a stop.
  app.addHook('preClose', () => parts.listeners.stop())
  app.get(
    '/v1/webhooks/listen',
    {
      config: {
        ...POLICY,
        errors: ['forbidden', 'not_found', 'bad_request'],
        documents: { reply: { 'text/event-stream': { schema: { type: 'string' } } } },
      },
      // HEAD would open a stream that has no body.
      exposeHeadRoute: false,
      schema: {
        tags: TAGS,
        operationId: 'listen',
        summary: 'Listen from a terminal',
        description: DESCRIPTION,
        querystring: Type.Object({
          client_id: Text({ min: 1, max: 200, description: 'One of your apps.' }),
          events: Type.Optional(
            Text({ max: 1000, description: 'With commas between them; all if left out.' }),
          ),
          low_balance_threshold: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: Number.MAX_SAFE_INTEGER,
              description: 'Credits. `balance.low` is told when a balance falls below.',
            }),
          ),
        }),
        headers: Type.Object({
          'x-svc-listener-secret': Type.Optional(
            Type.String({
              pattern: SECRET_PATTERN,
              description: 'The `secret` of an earlier stream, to go on with it.',
            }),
          ),
        }),
      },
    },
    async (request, reply) => {
      const { events, ...query } = request.query
      const wanted = {
        ...query,
        events: events?.split(',') ?? EVENT_TYPE_NAMES,
        secret: request.headers['x-svc-listener-secret'],
        session: sessionOf(request),
      }
      const { stall_ms } = parts.listeners.limits
      const stream = new EventStream(reply, { stall_limit_ms: stall_ms })
      await parts.listeners.serve(parts, wanted, stream)
      return reply
    },
  )
}
