// The log of a webhook: filters, the list on the left, and the chosen delivery on the right. On a phone a chosen delivery
// takes the place of the list.

import { useEffect, useRef } from 'react'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import type { Webhook } from '../webhooks.ts'
import { useDeliveries } from './deliveries.ts'
import { DeliveryDetail } from './delivery-detail.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { DeliveryFilters, readFilter, useFilters } from './filters.tsx'
import { SignatureCheck } from './signature-check.tsx'

type LogProps = {
  webhook: Webhook
  chosen: string
  onChoose: (delivery_id: string) => void
  onTest: () => void
}

export function DeliveryLog({ webhook, chosen, onChoose, onTest }: LogProps) {
  const filters = useFilters()
  const side = useReturnToRow(chosen)
  const found = useDeliveries(webhook.id, readFilter(filters))
  const { event } = filters.view
  // Several events may be of one millisecond.
  const pages = found.pages?.map((page) =>
    page.filter((row) => event === '' || row.event_id === event),
  )
  const list = { ...found, pages }
  const empty = filters.is_narrowed ? (
    <NothingFits onClear={filters.clear} />
  ) : (
    <NothingSent webhook={webhook} onTest={onTest} />
  )
  const given = { webhook_id: webhook.id, is_active: webhook.active }
  return (
    <section className={chosen === '' ? 'log' : 'log with-chosen'} aria-label="Deliveries">
      <div className="delivery-bar">
        <h2>Deliveries</h2>
        <Button kind="quiet" onClick={found.retry}>
          Refresh
        </Button>
      </div>
      <DeliveryFilters filters={filters} />
      <div className="deliveries">
        <div className="delivery-side" ref={side}>
          <DeliveryList {...{ list, chosen, onChoose, empty }} is_active={webhook.active} />
        </div>
        <div className="delivery-main">
          {chosen !== '' && (
            <p className="back-to-list">
              <Button onClick={() => onChoose('')}>All deliveries</Button>
            </p>
          )}
          {chosen === '' ? <SignatureCheck /> : <DeliveryDetail {...given} delivery_id={chosen} />}
        </div>
      </div>
    </section>
  )
}

function NothingFits({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState title="No delivery fits" action={<Button onClick={onClear}>Clear filters</Button>}>
      <p>Deliveries are kept for 30 days.</p>
    </EmptyState>
  )
}

function NothingSent({ webhook, onTest }: Pick<LogProps, 'webhook' | 'onTest'>) {
  const test = (
    <Button kind="primary" onClick={onTest}>
      Send a test event
    </Button>
  )
  return (
    <EmptyState title="Nothing was sent yet" action={webhook.active && test}>
      <p>Deliveries stand here as soon as something happens in {webhook.app_name}.</p>
    </EmptyState>
  )
}

/** On a phone the list is away while a delivery is shown; back on it, the focus is where it was. */
function useReturnToRow(chosen: string) {
  const side = useRef<HTMLDivElement>(null)
  const before = useRef(chosen)
  useEffect(() => {
    if (chosen === '' && before.current !== '') {
      const row = `[data-id="${CSS.escape(before.current)}"]`
      side.current?.querySelector<HTMLElement>(row)?.focus()
    }
    before.current = chosen
  }, [chosen])
  return side
}
