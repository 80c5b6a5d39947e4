// What is shown: period, measure, grouping and filters, each a part of the address.

import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/form.tsx'
import { Sign } from '../ui/icons.tsx'
import { PERIOD_CHOICES } from './period.ts'
import { isFiltered, type Names, NO_FILTERS, VIEW, type View } from './usage.ts'

type Choices = readonly (readonly [value: string, label: string])[]

const MEASURE_CHOICES: Choices = [
  ['spend', 'Spend'],
  ['requests', 'Requests'],
  ['tokens', 'Tokens'],
]
const GROUPING_CHOICES: Choices = [
  ['model', 'Model'],
  ['key', 'Key'],
  ['app', 'App'],
  ['user', 'User of your app'],
  ['error', 'Error'],
]
const STATUS_CHOICES: Choices = [
  ['', 'All'],
  ['ok', 'Served'],
  ['cut', 'Cut short'],
  ['failed', 'Failed'],
]
const PAYER_CHOICES: Choices = [
  ['', 'Anybody'],
  ['developer', 'You'],
  ['user', 'Your users'],
]

export type Change = (change: Partial<View>, options?: { replace?: boolean }) => void

export function Controls({ view, onChange }: { view: View; onChange: Change }) {
  return (
    <div className="usage-controls">
      <SelectField
        name="period"
        label="Period"
        choices={PERIOD_CHOICES}
        value={view.period}
        onChange={(event) => onChange({ period: VIEW.period.read(event.target.value) })}
      />
      <SelectField
        name="measure"
        label="Show"
        choices={MEASURE_CHOICES}
        value={view.measure}
        onChange={(event) => onChange({ measure: VIEW.measure.read(event.target.value) })}
      />
      <SelectField
        name="by"
        label="By"
        choices={GROUPING_CHOICES}
        value={view.by}
        onChange={(event) => onChange(groupBy(VIEW.by.read(event.target.value), view))}
      />
      <SelectField
        name="status"
        label="Status"
        choices={STATUS_CHOICES}
        value={view.status}
        onChange={(event) => onChange({ status: VIEW.status.read(event.target.value) })}
      />
      <SelectField
        name="billing_mode"
        label="Paid by"
        choices={PAYER_CHOICES}
        value={view.billing_mode}
        onChange={(event) => onChange({ billing_mode: VIEW.billing_mode.read(event.target.value) })}
      />
    </div>
  )
}

/** What failed cost nothing, so that errors are counted and not added up. */
function groupBy(by: View['by'], { measure }: View): Partial<View> {
  return by === 'error' && measure === 'spend' ? { by, measure: 'requests' } : { by }
}

type FilterNames = { keys: Names; apps: Names }

/** The filters that are set by a press on a group, each with a way out. */
export function ActiveFilters(props: { view: View; names: FilterNames; onChange: Change }) {
  const { view, names, onChange } = props
  if (!isFiltered(view)) return null
  const chips = [
    { field: 'model', words: 'Model', value: view.model },
    { field: 'key_id', words: 'Key', value: names.keys.get(view.key_id) ?? view.key_id },
    { field: 'client_id', words: 'App', value: names.apps.get(view.client_id) ?? view.client_id },
    { field: 'external_user_id', words: 'User', value: view.external_user_id },
  ].filter(({ value }) => value !== '')
  return (
    <div className="row">
      {chips.map(({ field, words, value }) => (
        <button
          key={field}
          type="button"
          className="chip"
          aria-label={`Remove the filter ${words} ${value}`}
          onClick={() => onChange({ [field]: '' })}
        >
          <span>
            {words}: <strong>{value}</strong>
          </span>
          <Sign name="close" />
        </button>
      ))}
      <Button kind="quiet" onClick={() => onChange(NO_FILTERS)}>
        Clear filters
      </Button>
    </div>
  )
}
