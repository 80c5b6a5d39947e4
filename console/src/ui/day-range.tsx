// A range of days in UTC, from and to, as two fields of a list's filters; and the times that the API takes for it.
//
//   <DayFields from={view.from} to={view.to} onChange={setView} />
//   params: { query: { ...timesOf(view) } }

const DAY_MS = 86_400_000

type Days = { from: string; to: string }

export function DayFields({
  from,
  to,
  onChange,
}: Days & { onChange: (days: Partial<Days>) => void }) {
  return (
    <>
      <DayField label="From" day={from} onChange={(day) => onChange({ from: day })} />
      <DayField label="To" day={to} onChange={(day) => onChange({ to: day })} />
    </>
  )
}

function DayField(props: { label: string; day: string; onChange: (day: string) => void }) {
  return (
    <label className="day-filter">
      {props.label}
      <input
        type="date"
        aria-label={`${props.label} day, UTC`}
        title="A day in UTC"
        value={startOfDay(props.day) === undefined ? '' : props.day}
        onChange={(event) => props.onChange(event.target.value)}
      />
    </label>
  )
}

/** The last day is part of it. What is no day in the address is left out. */
export function timesOf(days: Days): Partial<Days> {
  const [from, to] = [startOfDay(days.from), startOfDay(days.to)]
  return {
    ...(from !== undefined && { from: new Date(from).toISOString() }),
    ...(to !== undefined && { to: new Date(to + DAY_MS).toISOString() }),
  }
}

function startOfDay(day: string): number | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
