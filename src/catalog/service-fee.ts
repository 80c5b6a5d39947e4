// The operator's own margin: every price raised by it, once, when the catalog is read. Each price is rounded up
// to a whole credit per million units, so the margin is never less than what was set.

import { divideRoundUp } from '../platform/money.ts'
import type { Model, TokenPrices, UpstreamModel } from './models.ts'

const BASIS_POINTS = 10_000n

/** `fee_bps`: hundredths of a percent. */
export function addServiceFee(models: readonly Model[], fee_bps: number): readonly Model[] {
  if (fee_bps === 0) return models
  const raise = (price: bigint) =>
    divideRoundUp(price * (BASIS_POINTS + BigInt(fee_bps)), BASIS_POINTS)
  return models.map((model) => {
    if (model.kind !== 'chat') return { ...model, price: raise(model.price) }
    const { successor } = model
    return {
      ...raiseModel(model, raise),
      ...(successor && { successor: raiseModel(successor, raise) }),
    }
  })
}

function raiseModel<Priced extends UpstreamModel>(
  model: Priced,
  raise: (price: bigint) => bigint,
): Priced {
  const { long_prompt } = model
  return {
    ...model,
    prices: raiseAll(model.prices, raise),
    ...(long_prompt && {
      long_prompt: { ...long_prompt, prices: raiseAll(long_prompt.prices, raise) },
    }),
  }
}

function raiseAll(prices: TokenPrices, raise: (price: bigint) => bigint): TokenPrices {
  return {
    input: raise(prices.input),
    cache_read: raise(prices.cache_read),
    cache_write_5m: raise(prices.cache_write_5m),
    cache_write_1h: raise(prices.cache_write_1h),
    output: raise(prices.output),
    ...(prices.audio_input !== undefined && { audio_input: raise(prices.audio_input) }),
  }
}
