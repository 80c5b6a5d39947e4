// A box to tick, with a line that says what it means.

import { useId } from 'react'

type CheckFieldProps = { name: string; label: string; hint: string; defaultChecked?: boolean }

export function CheckField({ label, hint, ...input }: CheckFieldProps) {
  const id = useId()
  return (
    <div className="choice">
      <input type="checkbox" id={id} aria-describedby={`${id}-hint`} {...input} />
      <span>
        <label htmlFor={id}>{label}</label>
        <span className="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
      </span>
    </div>
  )
}
