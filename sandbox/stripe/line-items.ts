// The things that are bought in a Checkout session, priced on the spot.

import type { JsonObject } from '../json.ts'
import { badRequest } from './errors.ts'
import { accepted, type Field, missingField } from './fields.ts'
import { readObject, readText, readWhole } from './params.ts'
import type { World } from './world.ts'

const PRICE_DATA: Field = {
  type: 'object',
  fields: {
    ...accepted('tax_behavior'),
    currency: { type: 'currency', required: true },
    product: { type: 'text' },
    product_data: {
      type: 'object',
      fields: {
        ...accepted('images metadata tax_code unit_label'),
        description: { type: 'text' },
        name: { type: 'text', required: true },
      },
    },
    unit_amount: { type: 'whole', min: 0, required: true },
  },
}
export const LINE_ITEMS: Field = {
  type: 'list',
  item: {
    type: 'object',
    fields: {
      ...accepted('adjustable_quantity dynamic_tax_rates metadata tax_rates'),
      price_data: PRICE_DATA,
      price: { type: 'text' },
      quantity: { type: 'whole', min: 1, max: 999_999 },
    },
  },
}

export function checkItem(item: JsonObject, path: string): void {
  if (item['price'] !== undefined) {
    throw badRequest('The sandbox keeps no prices: send price_data.', { param: `${path}[price]` })
  }
  if (item['price_data'] === undefined) throw missingField(`${path}[price_data]`)
  if (item['quantity'] === undefined) throw missingField(`${path}[quantity]`)
}

export function makeItem(world: World, item: JsonObject) {
  const data = readObject(item, 'price_data')
  const product = readObject(data, 'product_data')
  const currency = (readText(data, 'currency') ?? '').toLowerCase()
  const unit_amount = readWhole(data, 'unit_amount') ?? 0
  const quantity = readWhole(item, 'quantity') ?? 1
  const amount = unit_amount * quantity
  return {
    id: world.ids.make('li'),
    object: 'item',
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency,
    description: readText(product, 'name') ?? 'Product',
    price: {
      id: world.ids.make('price'),
      object: 'price',
      active: false,
      billing_scheme: 'per_unit',
      created: world.clock.nowSeconds(),
      currency,
      livemode: false,
      metadata: {},
      product: world.ids.make('prod'),
      recurring: null,
      type: 'one_time',
      unit_amount,
      unit_amount_decimal: String(unit_amount),
    },
    quantity,
  }
}
