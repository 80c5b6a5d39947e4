// The deliveries as a list of buttons: the chosen one is shown beside it.

import type { ReactNode } from 'react'
import type { List } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Time } from '../../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { type Delivery, useNow } from './deliveries.ts'
import { describeProgress, STATUS_TONES, STATUS_WORDS } from './words.ts'

export function DeliveryList(props: {
  list: List<Delivery>
  is_active: boolean
  chosen: string
  onChoose: (id: string) => void
  empty: ReactNode
}) {
  const { list, chosen, onChoose, empty, is_active } = props
  const rows = list.pages?.flat() ?? []
  const now = useNow(rows.some((row) => row.status === 'pending'))
  if (!list.pages) {
    return list.problem ? (
      <ProblemNotice problem={list.problem} onRetry={list.retry} />
    ) : (
      <Skeleton lines={6} />
    )
  }
  if (rows.length === 0) return empty
  return (
    <>
      <ul className="delivery-list" aria-label="Deliveries">
        {rows.map((row) => (
          <li key={row.id}>
            <DeliveryRow {...{ row, now, is_active, onChoose }} is_chosen={row.id === chosen} />
          </li>
        ))}
      </ul>
      {list.problem && <ProblemNotice problem={list.problem} onRetry={list.loadMore} />}
      {list.has_more && (
        <p className="more">
          <Button busy={list.is_loading_more} onClick={list.loadMore}>
            {list.is_loading_more ? 'Loading…' : 'Load more'}
          </Button>
        </p>
      )}
    </>
  )
}

function DeliveryRow(props: {
  row: Delivery
  now: number
  is_active: boolean
  is_chosen: boolean
  onChoose: (id: string) => void
}) {
  const { row, now, is_active, is_chosen, onChoose } = props
  return (
    <button
      type="button"
      className="delivery-row"
      data-id={row.id}
      aria-current={is_chosen || undefined}
      onClick={() => onChoose(row.id)}
    >
      <span className="delivery-name">
        <code>{row.event_type}</code>
        {row.test && <span className="soft"> test</span>}
      </span>
      <Badge tone={STATUS_TONES[row.status]}>{STATUS_WORDS[row.status]}</Badge>
      <span className="soft delivery-when">
        <Time at={row.created_at} as="distance" />
      </span>
      <span className="soft delivery-progress">{describeProgress(row, { now, is_active })}</span>
    </button>
  )
}
