// A choice of periods, all in view. What is chosen stands in the address.

export function PeriodChoice<Days extends string>(props: {
  choices: readonly Days[]
  chosen: Days
  onChoose: (days: Days) => void
}) {
  return (
    <div className="segments" role="group" aria-label="Period">
      {props.choices.map((days) => (
        <button
          key={days}
          type="button"
          aria-pressed={days === props.chosen}
          onClick={() => props.onChoose(days)}
        >
          {days} days
        </button>
      ))}
    </div>
  )
}
