// The dialogs of the address and the password.

import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { Form, type FormValues, TextField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
import { toast } from '../ui/toast.tsx'
import { askEmailChange, changePassword } from './account.ts'

const PASSWORD_MIN = 8

type ChangeProps = { email: string; onClose: () => void }

export function ChangeEmail({ email, onClose }: ChangeProps) {
  const [asked, setAsked] = useState<string | undefined>()
  if (asked !== undefined) return <EmailAsked from={email} to={asked} onClose={onClose} />
  const submit = async (values: FormValues) => {
    const new_email = values.read('new_email')
    await askEmailChange(new_email)
    setAsked(new_email)
  }
  return (
    <Dialog title="Change the address" onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField
          name="new_email"
          label="New address"
          type="email"
          autoComplete="email"
          hint={`Both ${email} and the new address get a mail, and both have to agree.`}
          required
        />
        <FormActions action="Send both mails" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function EmailAsked({ from, to, onClose }: { from: string; to: string; onClose: () => void }) {
  return (
    <Dialog title="Two mails are on their way" onClose={onClose}>
      <p>
        One to <strong>{from}</strong> and one to <strong>{to}</strong>. Follow the link in both
        within 24 hours. Until then, {from} stays your address.
      </p>
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  )
}

export function ChangePassword({ email, onClose }: ChangeProps) {
  const submit = async (values: FormValues) => {
    await changePassword({
      current_password: values.readExact('current_password'),
      new_password: values.readExact('new_password'),
    })
    toast('The password is changed. Every other session has ended.')
    onClose()
  }
  return (
    <Dialog title="Change the password" onClose={onClose}>
      <Form onSubmit={submit}>
        {/* So that password managers know whose it is. */}
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <TextField
          name="current_password"
          label="Present password"
          type="password"
          autoComplete="current-password"
          required
        />
        <TextField
          name="new_password"
          label="New password"
          type="password"
          autoComplete="new-password"
          minLength={PASSWORD_MIN}
          hint="At least 8 characters. Every other session ends."
          required
        />
        <FormActions action="Change the password" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
