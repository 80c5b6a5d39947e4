// Where webhooks go, and what a test may do with them: hold, duplicate, reorder, repeat, forge.

import { isObject, type JsonObject, textsOf } from '../json.ts'
import {
  type ControlCall,
  type ControlRoute,
  choiceField,
  control,
  textField,
  wholeField,
} from './control-call.ts'
import { badRequest } from './errors.ts'
import type { State } from './state.ts'
import type { SendWish } from './webhooks.ts'

const MAX_COPIES = 100
const MAX_WAIT_MS = 120_000
const DEFAULT_WAIT_MS = 30_000
const SETTINGS = ['url', 'connect_url', 'secret', 'connect_secret', 'events', 'hold', 'copies']

export const WEBHOOK_ROUTES: readonly ControlRoute[] = [
  control('GET', '/webhooks', ({ sender }) => sender.settings),
  control('POST', '/webhooks', configure, SETTINGS),
  control(
    'POST',
    '/webhooks/release',
    ({ sender }, { body }) => {
      const order = choiceField({ order: 'as_made', ...body }, 'order', [
        'as_made',
        'reversed',
        'shuffled',
      ])
      return { released: sender.release(order, readCopies(body)) }
    },
    ['order', 'copies'],
  ),
  control('POST', '/webhooks/wait', waitForIdle, ['timeout_ms']),
  control('GET', '/webhooks/deliveries', ({ sender }) => ({ deliveries: sender.deliveries() })),
  control('POST', '/events', forge, ['type', 'object', 'account']),
  control('POST', '/events/:id/send', resend, ['times', 'age_s', 'secret', 'body']),
]

function configure({ sender }: State, { body }: ControlCall): object {
  const { settings } = sender
  sender.settings = {
    url: readAddress(body, 'url', settings.url),
    connect_url: readAddress(body, 'connect_url', settings.connect_url),
    secret: textField(body, 'secret') ?? settings.secret,
    connect_secret: textField(body, 'connect_secret') ?? settings.connect_secret,
    events: body['events'] === undefined ? settings.events : textsOf(body['events']),
    hold: body['hold'] === undefined ? settings.hold : body['hold'] === true,
    copies: body['copies'] === undefined ? settings.copies : readCopies(body),
  }
  if (!sender.settings.hold) sender.release('as_made', 1)
  return sender.settings
}

function readAddress(body: JsonObject, name: string, known: string | null): string | null {
  if (body[name] === null) return null
  const address = textField(body, name) ?? known
  if (address !== null && !URL.canParse(address))
    throw badRequest(`${name}: an address`, { param: name })
  return address
}

function readCopies(body: JsonObject): number {
  const copies = wholeField(body, 'copies', { fallback: 1, max: MAX_COPIES })
  if (copies < 1) throw badRequest('copies: 1 or more', { param: 'copies' })
  return copies
}

async function waitForIdle({ sender }: State, { body }: ControlCall): Promise<object> {
  const timeout_ms = wholeField(body, 'timeout_ms', { fallback: DEFAULT_WAIT_MS, max: MAX_WAIT_MS })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), timeout_ms)
  const idle = sender.idle().then(() => true)
  const is_idle = await Promise.race([idle, promise])
  clearTimeout(timer)
  return { idle: is_idle, waiting: sender.waiting() }
}

/** Any event of Stripe's, also of kinds that nothing here causes. */
function forge({ world, sender }: State, { body }: ControlCall): object {
  const { object } = body
  const type = textField(body, 'type')
  if (type === undefined || !isObject(object)) throw badRequest('type and object are required')
  const account = textField(body, 'account')
  world.events.emit(type, object, account === undefined ? {} : { account })
  const [event] = world.events.page({ limit: 1 }, () => true).data
  return { event, waiting: sender.waiting() }
}

async function resend({ world, sender }: State, { ids, body }: ControlCall): Promise<object> {
  const event = world.events.get(ids['id'] ?? '')
  const secret = textField(body, 'secret')
  const raw = textField(body, 'body')
  const wish: SendWish = {
    age_s: wholeField(body, 'age_s', { fallback: 0, max: 1_000_000_000 }),
    ...(secret !== undefined && { secret }),
    ...(raw !== undefined && { body: raw }),
  }
  const times = wholeField(body, 'times', { fallback: 1, max: MAX_COPIES })
  const statuses: number[] = []
  for (let time = 0; time < times; time += 1) statuses.push(await sender.send(event, wish))
  return { event: event.id, statuses }
}
