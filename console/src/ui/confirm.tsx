// Asks before what cannot be undone: the name has to be typed.

import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { Form, SubmitButton, TextField } from './form.tsx'

export function ConfirmByTyping(props: {
  title: string
  /** What is typed. */
  name: string
  /** The button's words: what happens. */
  action: string
  onConfirm: () => Promise<void>
  onClose: () => void
  children: ReactNode
}) {
  const { title, name, action, onConfirm, onClose, children } = props
  const [typed, setTyped] = useState('')
  const is_same = typed.trim() === name.trim()
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        onSubmit={async () => {
          if (is_same) await onConfirm()
        }}
      >
        {children}
        <TextField
          name="confirm"
          label={`Type “${name}” to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          spellCheck={false}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          {is_same ? (
            <SubmitButton kind="danger">{action}</SubmitButton>
          ) : (
            <Button kind="danger" type="submit" disabled>
              {action}
            </Button>
          )}
        </DialogActions>
      </Form>
    </Dialog>
  )
}
