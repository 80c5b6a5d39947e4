// Every write of operators goes through this dialog: it says what will happen and asks for the reason that the audit
// keeps. If the API wants a fresh proof, the shell's own dialog opens above it, and the write goes on.

import type { ReactNode } from 'react'
import { type ButtonKind } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form, type FormValues, TextField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'

const REASON_MAX = 500

export type ActDialogProps = {
  title: string
  /** The button's words: what happens. */
  action: string
  kind?: ButtonKind
  /** Who else reads the reason. */
  reason_hint?: string
  onAct: (reason: string, values: FormValues) => Promise<void>
  onClose: () => void
  children: ReactNode
}

export function ActDialog(props: ActDialogProps) {
  const { title, action, kind = 'primary', onAct, onClose, children } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={(values) => onAct(values.read('reason'), values)}>
        {children}
        <ReasonField hint={props.reason_hint} />
        <FormActions action={action} onCancel={onClose} kind={kind} />
      </Form>
    </Dialog>
  )
}

export function ReasonField({ hint = 'Kept in the audit.' }: { hint?: string | undefined }) {
  return (
    <TextField
      name="reason"
      label="Reason"
      hint={hint}
      maxLength={REASON_MAX}
      placeholder="Asked for in ticket 2041"
      required
    />
  )
}
