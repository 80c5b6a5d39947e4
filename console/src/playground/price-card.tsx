// What the chosen model costs, and what the call that would be sent now can come to at most.

import { formatCount, formatCredits } from '../format.ts'
import { formatPrice, formatSpend } from '../prices.ts'
import { Time } from '../ui/figures.tsx'
import type { Model } from './models.ts'

export function PriceCard({ model, most }: { model: Model; most: number | undefined }) {
  const { unit, input, cached_input, output } = model.pricing
  const is_chat = unit === 'token'
  return (
    <section className="price-card" aria-label="Price">
      <dl>
        <dt>{is_chat ? 'Input' : 'Price'}</dt>
        <dd>{formatPrice(input, unit)}</dd>
        {is_chat && (
          <>
            <dt>Cached input</dt>
            <dd>{formatPrice(cached_input, unit)}</dd>
            <dt>Output</dt>
            <dd>{formatPrice(output, unit)}</dd>
          </>
        )}
        {model.context_window !== undefined && (
          <>
            <dt>Window</dt>
            <dd>{formatCount(model.context_window)} tokens</dd>
          </>
        )}
        {most !== undefined && (
          <>
            <dt>Held at most</dt>
            <dd data-held={most} title={`${formatCredits(most)} credits`}>
              ≈ {formatSpend(most)}, until the exact cost is known
            </dd>
          </>
        )}
      </dl>
      {model.deprecated && model.retires_on !== null && (
        <p className="field-hint">
          Its provider shuts it down on <Time at={model.retires_on} as="day" />.
          {model.served_by !== model.id && ` Answered by ${model.served_by}.`}
        </p>
      )}
    </section>
  )
}
