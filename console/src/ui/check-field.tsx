// Any of a few, all in view: one checkbox for each, with a line that says what it means.

import { type ReactNode, useId } from 'react'
import { useFieldFault } from './form.tsx'

export type Check = { value: string; label: ReactNode; hint?: ReactNode }

export function CheckField(props: {
  label: string
  name: string
  checks: readonly Check[]
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
}) {
  const { label, name, checks, chosen, onChange } = props
  const id = useId()
  const fault = useFieldFault(name)
  const toggle = (value: string, is_on: boolean) =>
    onChange(
      checks
        .map((check) => check.value)
        .filter((one) => (one === value ? is_on : chosen.includes(one))),
    )
  return (
    <fieldset className="choices" aria-describedby={fault ? `${id}-fault` : undefined}>
      <legend>{label}</legend>
      {checks.map(({ value, label: text, hint }) => (
        <label key={value} className="choice">
          <input
            type="checkbox"
            name={name}
            value={value}
            checked={chosen.includes(value)}
            aria-invalid={fault ? true : undefined}
            onChange={(event) => toggle(value, event.target.checked)}
          />
          <span>
            {text}
            {hint !== undefined && <span className="field-hint">{hint}</span>}
          </span>
        </label>
      ))}
      {fault && (
        <p className="field-error" id={`${id}-fault`}>
          {fault.message} {fault.hint}
        </p>
      )}
    </fieldset>
  )
}
