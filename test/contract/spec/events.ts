// Events and their delivery.

import type { Chapter } from './statement.ts'

const DELIVERY = 'test/webhooks/delivery.test.ts'
const EVENTS = 'test/webhooks/events.test.ts'
const SSRF = 'test/webhooks/ssrf.test.ts'
const CALL =
  'a call that the developer pays › is told as usage.completed and balance.updated, with the numbers of the reply'
const CONNECTION =
  'a connection › is told when it begins and when it ends, with the address of the user'

export const EVENTS_CHAPTER: Chapter = {
  title: 'Events',
  sections: [
    {
      title: 'Delivery',
      rows: [
        [
          'A POST with a JSON body to `url`, for each event that was asked for',
          [EVENTS, CALL],
          [
            EVENTS,
            'is told to every app of the developer when the key is bound to none, else to its app only',
          ],
        ],
        [
          '`X-Svc-Signature`: HMAC-SHA256 of the raw body with the secret, hex',
          [EVENTS, CALL],
          [
            'src/webhooks/signature.test.ts',
            'the headers are the four of the specification and the three of Standard Webhooks',
          ],
        ],
        ['`X-Svc-Event`: the type', [EVENTS, CALL]],
        ['`Content-Type`: application/json', [EVENTS, CALL]],
        ['`User-Agent`: Svc-Webhooks/1.0', [EVENTS, CALL]],
        [
          'A receiver computes the same over the raw body, and answers 401 where it differs',
          [
            'test/webhooks/examples.test.ts',
            '…: takes each event once, and nothing that is not signed',
          ],
          [
            'src/webhooks/signature.test.ts',
            'a signature does not verify with another secret, another body or another event',
          ],
        ],
        [
          'Retries: up to 3, within 24 hours, after an answer that is not 2xx or none at all',
          [DELIVERY, 'is tried four times with the same bytes, at those times, and then not again'],
          [DELIVERY, 'is not tried past 24 hours, whatever the number of tries'],
          ['src/webhooks/attempt.test.ts', '… is …'],
          ['src/webhooks/attempt.test.ts', 'nothing listens'],
        ],
        [
          'Addresses: https; http for localhost only',
          [SSRF, 'W1: another scheme than https'],
          [SSRF, 'W9: where loopback is allowed, only localhost and 127.0.0.1 are this machine'],
        ],
        [
          'Addresses: private and link-local ones are blocked',
          [SSRF, 'W2: a literal that is not public'],
          [SSRF, 'W7: a name that leads to … is registered and never dialled'],
        ],
      ],
    },
    {
      title: 'Types',
      rows: [
        ['`user.connected`: `user_id`, `connected_at`, `email`', [EVENTS, CONNECTION]],
        ['`user.disconnected`: `user_id`, `disconnected_at`, `email`', [EVENTS, CONNECTION]],
        [
          '`balance.updated`: `user_id`, `new_balance`, `amount_spent`, `model`, `endpoint`',
          [EVENTS, CALL],
          [EVENTS, 'is told to the app it came through, about the user'],
        ],
        [
          '`balance.updated`: `endpoint` is the template of the route',
          [
            'test/contract/spec-webhooks.test.ts',
            'balance.updated names the template of the route, not the address that was called',
          ],
        ],
        [
          '`balance.low`: `user_id`, `current_balance`, `threshold`',
          [
            EVENTS,
            'balance.low › is told once when a call takes the balance below the threshold, and not while it stays there',
          ],
        ],
        [
          '`usage.completed`: `user_id`, `model`, the three token counts, `credits_used`',
          [EVENTS, CALL],
        ],
        [
          'Every event has `id` (`evt_…`), `type`, `created_at`, `data`',
          [
            'test/contract/spec-webhooks.test.ts',
            'an event has an id with evt_ in front, its type, its time and its data, in this envelope',
          ],
        ],
        [
          'The numbers at the end of a stream are part of the stream, no webhook',
          [
            'test/contract/spec-chat.test.ts',
            'a streamed completion is data lines with deltas, then [DONE], then one line with svc',
          ],
        ],
      ],
    },
  ],
}
