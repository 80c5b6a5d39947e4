// The end of a form in a dialog: a way out, and the act itself.
//
//   <FormActions action="Save" onCancel={onClose} />

import type { ReactNode } from 'react'
import { Button, type ButtonKind } from './button.tsx'
import { DialogActions } from './dialog.tsx'
import { SubmitButton } from './form.tsx'

export function FormActions(props: {
  action: ReactNode
  onCancel: () => void
  /** What the way out is called, where nothing is cancelled by it. */
  cancel?: string
  kind?: ButtonKind
}) {
  const { action, onCancel, cancel = 'Cancel', kind = 'primary' } = props
  return (
    <DialogActions>
      <Button onClick={onCancel}>{cancel}</Button>
      <SubmitButton kind={kind}>{action}</SubmitButton>
    </DialogActions>
  )
}
