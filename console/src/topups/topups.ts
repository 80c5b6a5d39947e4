// The data of this page: top-ups, automatic top-up, and the way to the checkout.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { CREDITS_PER_DOLLAR, formatDollars, readDollars } from '../format.ts'
import { queries, useList } from '../queries.ts'
import { wrongField } from '../ui/form.tsx'

export type Topup =
  paths['/account/topups']['get']['responses'][200]['content']['application/json']['data'][number]
export type AutoTopup =
  paths['/account/auto-topup']['get']['responses'][200]['content']['application/json']
type AutoTopupWish = NonNullable<
  paths['/account/auto-topup']['put']['requestBody']
>['content']['application/json']

export type Bounds = { min_usd: number; max_usd: number }

const TOPUPS = ['topups']
const AUTO = ['auto-topup']
/** Where the checkout leads back to; it adds `?result=paid` or `?result=canceled`. */
const WAY_BACK = '/console/topups'
const CREDITS_PER_CENT = CREDITS_PER_DOLLAR / 100

export function useTopups() {
  return useList<Topup>(TOPUPS, (query) =>
    ask(() => api.GET('/account/topups', { params: { query } })),
  )
}

export function useAutoTopup() {
  return useQuery({ queryKey: AUTO, queryFn: () => ask(() => api.GET('/account/auto-topup')) })
}

/** Leaves the console for the payment page. */
export async function goToCheckout(wanted: {
  amount_usd: number
  save_payment_method: boolean
}): Promise<void> {
  const body = { ...wanted, return_to: WAY_BACK }
  const { checkout_url } = await ask(() => api.POST('/account/topups', { body }))
  location.assign(checkout_url)
}

export async function setAutoTopup(body: AutoTopupWish): Promise<void> {
  queries.setQueryData(AUTO, await ask(() => api.PUT('/account/auto-topup', { body })))
}

export async function readPaymentsAgain(): Promise<void> {
  await Promise.all(
    [TOPUPS, ['account'], ['statement']].map((queryKey) => queries.invalidateQueries({ queryKey })),
  )
}

/** Dollars as the API takes them: in whole cents, within bounds. */
export function readAmount(typed: string, field: string, { min_usd, max_usd }: Bounds): number {
  const credits = readDollars(typed)
  const is_good =
    credits !== undefined &&
    credits % CREDITS_PER_CENT === 0 &&
    credits >= min_usd * CREDITS_PER_DOLLAR &&
    credits <= max_usd * CREDITS_PER_DOLLAR
  if (is_good) return credits / CREDITS_PER_DOLLAR
  const [least, most] = [min_usd, max_usd].map((usd) => formatDollars(usd * CREDITS_PER_DOLLAR))
  throw wrongField(field, `Enter an amount from ${least} to ${most}, in whole cents.`)
}
