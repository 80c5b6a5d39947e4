// Transfers: money from the platform's balance to a connected account, and back.

import type { JsonObject } from '../json.ts'
import { badRequest, missing, missingParam } from './errors.ts'
import { accepted, type Fields, missingField } from './fields.ts'
import type { Reversal, Transfer } from './objects.ts'
import { mergeMetadata, readMetadata, readPage, readRange, readText, readWhole } from './params.ts'
import { type ApiCall, get, idOf, list, post, type Route, toList } from './route.ts'
import type { World } from './world.ts'

const SHOWN_REVERSALS = 10

const CREATE_FIELDS: Fields = {
  amount: { type: 'whole', min: 1, max: 99_999_999_999 },
  currency: { type: 'currency', required: true },
  description: { type: 'text' },
  destination: { type: 'text', required: true },
  metadata: { type: 'metadata' },
  source_transaction: { type: 'text' },
  source_type: { type: 'text', choices: ['bank_account', 'card', 'fpx'] },
  transfer_group: { type: 'text' },
}
const LIST_FIELDS: Fields = {
  created: { type: 'moment' },
  destination: { type: 'text' },
  transfer_group: { type: 'text' },
}
const REVERSAL_FIELDS: Fields = {
  ...accepted('refund_application_fee'),
  amount: { type: 'whole', min: 1 },
  description: { type: 'text' },
  metadata: { type: 'metadata' },
}

export const TRANSFER_ROUTES: readonly Route[] = [
  {
    ...post('/v1/transfers', (world, { params }) => createTransfer(world, params), CREATE_FIELDS),
    /** Stripe's description leaves the amount optional; without a source transaction it is not. */
    check(params) {
      if (params['amount'] === undefined && params['source_transaction'] === undefined) {
        throw missingField('amount')
      }
    },
  },
  list('/v1/transfers', listTransfers, LIST_FIELDS),
  get('/v1/transfers/:id', (world, call) => findTransfer(world, idOf(call))),
  post('/v1/transfers/:id', updateTransfer, {
    description: { type: 'text', clearable: true },
    metadata: { type: 'metadata' },
  }),
  post('/v1/transfers/:id/reversals', createReversal, REVERSAL_FIELDS),
  list('/v1/transfers/:id/reversals', (world, call) => {
    const { id } = findTransfer(world, idOf(call))
    const page = world.reversals.page(readPage(call.params), {
      under: { name: 'transfer', key: id },
    })
    return toList(page, `/v1/transfers/${id}/reversals`)
  }),
  get('/v1/transfers/:id/reversals/:reversal', (world, call) => {
    const reversal = world.reversals.get(idOf(call, 'reversal'))
    if (reversal?.transfer !== idOf(call)) {
      throw missing('transfer reversal', idOf(call, 'reversal'), 'id')
    }
    return reversal
  }),
]

function findTransfer(world: World, id: string): Transfer {
  const transfer = world.transfers.get(id)
  if (transfer === undefined) throw missing('transfer', id, 'transfer')
  return transfer
}

function createTransfer(world: World, params: JsonObject): Transfer {
  const currency = (readText(params, 'currency') ?? '').toLowerCase()
  const source = findSource(world, readText(params, 'source_transaction'))
  const amount = readWhole(params, 'amount') ?? source?.amount ?? 0
  const destination = findDestination(world, readText(params, 'destination') ?? '')
  // Money of a source transaction need not have arrived yet.
  if (source === undefined) checkFunds(world, currency, amount)
  const id = world.ids.make('tr')
  const transfer: Transfer = {
    id,
    object: 'transfer',
    amount,
    amount_reversed: 0,
    balance_transaction: world.ids.make('txn'),
    created: world.clock.nowSeconds(),
    currency,
    description: readText(params, 'description') ?? null,
    destination: destination.id,
    destination_payment: world.ids.make('py'),
    livemode: false,
    metadata: readMetadata(params),
    reversals: { object: 'list', data: [], has_more: false, url: `/v1/transfers/${id}/reversals` },
    reversed: false,
    source_transaction: source?.id ?? null,
    source_type: readText(params, 'source_type') ?? 'card',
    transfer_group: readText(params, 'transfer_group') ?? source?.transfer_group ?? null,
  }
  world.transfers.insert(transfer)
  world.platform.available.add(currency, -amount)
  destination.available.add(currency, amount)
  world.events.emit('transfer.created', transfer)
  return transfer
}

function findSource(world: World, id: string | undefined) {
  if (id === undefined) return undefined
  const charge = world.charges.get(id)
  if (charge === undefined) throw missingParam('charge', id, 'source_transaction')
  return charge
}

function findDestination(world: World, id: string) {
  const row = world.accounts.get(id)
  if (row === undefined || row.deauthorized) throw missingParam('destination', id, 'destination')
  if (row.account.capabilities['transfers'] !== 'active') {
    throw badRequest(
      'Your destination account needs to have at least one of the following capabilities enabled: transfers, crypto_transfers, legacy_payments',
      { code: 'insufficient_capabilities_for_transfer', param: 'destination' },
    )
  }
  return row
}

function checkFunds(world: World, currency: string, amount: number): void {
  if (world.platform.available.of(currency) >= amount) return
  throw badRequest(
    'You have insufficient available funds in your Stripe account. Try adding funds directly to your available balance by creating Charges using the 4000000000000077 test card. See: https://stripe.com/docs/testing#available-balance',
    { code: 'balance_insufficient' },
  )
}

function listTransfers(world: World, { params }: ApiCall): object {
  const destination = readText(params, 'destination')
  const transfer_group = readText(params, 'transfer_group')
  const fits = readRange(params)
  const under =
    transfer_group === undefined
      ? destination && { name: 'destination', key: destination }
      : { name: 'transfer_group', key: transfer_group }
  const page = world.transfers.page(readPage(params), {
    ...(under && { under }),
    keep: (row) =>
      (destination === undefined || row.destination === destination) && fits(row.created),
  })
  return toList(page, '/v1/transfers')
}

function updateTransfer(world: World, call: ApiCall): object {
  const transfer = findTransfer(world, idOf(call))
  const { params } = call
  transfer.metadata = mergeMetadata(transfer.metadata, params)
  if (params['description'] !== undefined) {
    transfer.description = readText(params, 'description') ?? null
  }
  world.events.emit('transfer.updated', transfer)
  return transfer
}

function createReversal(world: World, call: ApiCall): Reversal {
  const transfer = findTransfer(world, idOf(call))
  const open = transfer.amount - transfer.amount_reversed
  const amount = readWhole(call.params, 'amount') ?? open
  if (open === 0) {
    throw badRequest(`Transfer ${transfer.id} is already fully reversed.`)
  }
  if (amount > open) {
    throw badRequest(
      `Transfer reversal amount (${amount}) is greater than unreversed amount on transfer (${open})`,
      { param: 'amount' },
    )
  }
  const reversal: Reversal = {
    id: world.ids.make('trr'),
    object: 'transfer_reversal',
    amount,
    balance_transaction: world.ids.make('txn'),
    created: world.clock.nowSeconds(),
    currency: transfer.currency,
    destination_payment_refund: world.ids.make('pyr'),
    metadata: readMetadata(call.params),
    source_refund: null,
    transfer: transfer.id,
  }
  world.reversals.insert(reversal)
  transfer.amount_reversed += amount
  transfer.reversed = transfer.amount_reversed === transfer.amount
  transfer.reversals.data.unshift(reversal)
  transfer.reversals.has_more = transfer.reversals.data.length > SHOWN_REVERSALS
  transfer.reversals.data.length = Math.min(transfer.reversals.data.length, SHOWN_REVERSALS)
  world.platform.available.add(transfer.currency, amount)
  world.accounts.get(transfer.destination)?.available.add(transfer.currency, -amount)
  world.events.emit('transfer.reversed', transfer)
  return reversal
}
