// What the platform reads about itself: its balance, its events, intents to save a card.

import { findAccount } from './accounts.ts'
import type { Balances } from './balances.ts'
import { missing } from './errors.ts'
import { accepted } from './fields.ts'
import type { Event } from './objects.ts'
import { readPage, readRange, readText, readTexts } from './params.ts'
import { get, idOf, list, type Route, toList } from './route.ts'

export const PLATFORM_ROUTES: readonly Route[] = [
  get('/v1/balance', (world, { account }) => {
    const row = account === undefined ? undefined : findAccount(world, account)
    return describeBalance(
      row?.available ?? world.platform.available,
      row?.account.default_currency,
    )
  }),
  list(
    '/v1/events',
    (world, { params }) => {
      const type = readText(params, 'type')
      const types = readTexts(params, 'types')
      const fits = readRange(params)
      const keep = (event: Event) =>
        (type === undefined || event.type === type || matchesStar(event.type, type)) &&
        (types.length === 0 || types.includes(event.type)) &&
        fits(event.created)
      return toList(world.events.page(readPage(params), keep), '/v1/events')
    },
    {
      ...accepted('delivery_success'),
      created: { type: 'moment' },
      type: { type: 'text' },
      types: { type: 'list', item: { type: 'text' }, max: 20 },
    },
  ),
  get('/v1/events/:id', (world, call) => world.events.get(idOf(call))),
  get('/v1/setup_intents/:id', (world, call) => {
    const intent = world.setup_intents.get(idOf(call))
    if (intent === undefined) throw missing('setupintent', idOf(call), 'intent')
    return intent
  }),
]

function describeBalance(available: Balances, currency = 'usd'): object {
  const amounts = available.entries()
  const shown = amounts.length === 0 ? [[currency, 0] as const] : amounts
  const list = shown.map(([currency, amount]) => ({
    amount,
    currency,
    source_types: { card: amount },
  }))
  return {
    object: 'balance',
    available: list,
    connect_reserved: list.map(({ currency }) => ({ amount: 0, currency })),
    livemode: false,
    pending: list.map(({ currency }) => ({ amount: 0, currency, source_types: { card: 0 } })),
  }
}

/** `transfer.*` stands for all events of transfers. */
function matchesStar(type: string, wanted: string): boolean {
  return wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1))
}
