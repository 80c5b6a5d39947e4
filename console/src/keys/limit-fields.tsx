// The fields that a new key and a changed key share, and what they mean to the API.

import { readDollars, writeDollars } from '../format.ts'
import { type FormValues, SelectField, TextField, wrongField } from '../ui/form.tsx'
import type { Key } from './keys.ts'

const PERIODS = [
  ['month', 'a month'],
  ['day', 'a day'],
  ['total', 'in total'],
] as const
const DAY_LENGTH = 'YYYY-MM-DD'.length

type Limits = Pick<
  Key,
  'spend_limit_credits' | 'spend_limit_period' | 'expires_at' | 'rate_limit_per_minute'
>

export function LimitFields({ row }: { row?: Limits }) {
  const limit = row?.spend_limit_credits ?? null
  return (
    <>
      <div className="field-pair">
        <TextField
          name="spend_limit_credits"
          label="Spend limit"
          prefix="$"
          inputMode="decimal"
          hint="Calls beyond it are refused. Empty: no limit."
          defaultValue={limit === null ? '' : writeDollars(limit)}
        />
        <SelectField
          name="spend_limit_period"
          label="Period"
          choices={PERIODS}
          defaultValue={row?.spend_limit_period ?? 'month'}
        />
      </div>
      <div className="field-pair">
        <TextField
          name="expires_at"
          label="Last day (UTC)"
          type="date"
          hint="Empty: it does not expire."
          defaultValue={row?.expires_at?.slice(0, DAY_LENGTH) ?? ''}
        />
        <TextField
          name="rate_limit_per_minute"
          label="Calls a minute"
          type="number"
          min={1}
          hint="Empty: the most there is."
          defaultValue={row?.rate_limit_per_minute ?? ''}
        />
      </div>
    </>
  )
}

export function readLimits(values: FormValues): Limits {
  const typed = values.read('spend_limit_credits')
  const credits = typed === '' ? null : readDollars(typed)
  if (credits === undefined) {
    throw wrongField('spend_limit_credits', 'Enter dollars, such as 25 or 2.50.')
  }
  const day = values.read('expires_at')
  const rate = values.read('rate_limit_per_minute')
  return {
    spend_limit_credits: credits,
    spend_limit_period: credits === null ? null : readPeriod(values.read('spend_limit_period')),
    expires_at: day === '' ? null : `${day}T23:59:59Z`,
    rate_limit_per_minute: rate === '' ? null : Number(rate),
  }
}

function readPeriod(text: string): 'day' | 'month' | 'total' {
  return PERIODS.find(([period]) => period === text)?.[0] ?? 'month'
}
