// What the list of deliveries is narrowed to, in the address.

import { Button } from '../../ui/button.tsx'
import { DayFields, timesOf } from '../../ui/day-range.tsx'
import { oneOf, text, useUrlState } from '../../url-state.ts'
import { EVENT_NAMES } from '../event-catalogue.ts'
import { type Filter, type Status, timeOfEvent } from './deliveries.ts'
import { STATUS_WORDS } from './words.ts'

const STATUSES = ['', 'pending', 'delivered', 'failed', 'cancelled'] as const

const VIEW = {
  status: oneOf(STATUSES, ''),
  event_type: oneOf(['', ...EVENT_NAMES], ''),
  from: text(),
  to: text(),
  /** One event by its id, whatever else is asked for. */
  event: text(),
}
const CLEAR = { status: '', event_type: '', from: '', to: '', event: '' } as const

export function useFilters() {
  const [view, setView] = useUrlState(VIEW)
  const is_narrowed = Object.values(view).some((value) => value !== '')
  return { view, setView, is_narrowed, clear: () => setView(CLEAR) }
}

type Filters = ReturnType<typeof useFilters>

/** As the API takes it. */
export function readFilter({ view }: Filters): Filter {
  const around = timeOfEvent(view.event)
  if (around) return around
  return {
    ...(view.status !== '' && { status: view.status }),
    ...(view.event_type !== '' && { event_type: view.event_type }),
    ...timesOf(view),
  }
}

export function DeliveryFilters({ filters }: { filters: Filters }) {
  const { view, setView, is_narrowed, clear } = filters
  return (
    <div className="list-filters" role="group" aria-label="Filters">
      <div className="segments" role="group" aria-label="State">
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            aria-pressed={view.status === status}
            onClick={() => setView({ status, event: '' })}
          >
            {wordOf(status)}
          </button>
        ))}
      </div>
      <select
        aria-label="Event"
        value={view.event_type}
        onChange={({ target }) => setView({ event_type: readEvent(target.value), event: '' })}
      >
        <option value="">All events</option>
        {EVENT_NAMES.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <DayFields
        from={view.from}
        to={view.to}
        onChange={(days) => setView({ ...days, event: '' })}
      />
      {is_narrowed && (
        <Button kind="quiet" onClick={clear}>
          Clear filters
        </Button>
      )}
    </div>
  )
}

function wordOf(status: Status | ''): string {
  return status === '' ? 'All' : STATUS_WORDS[status]
}

function readEvent(value: string) {
  return EVENT_NAMES.find((name) => name === value) ?? ''
}
