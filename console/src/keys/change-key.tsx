// The dialogs that change a key: edit, replace its secret, revoke.

import { useState } from 'react'
import { ConfirmByTyping } from '../ui/confirm.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Time } from '../ui/figures.tsx'
import { Form, type FormValues, SelectField, TextField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
import { toast } from '../ui/toast.tsx'
import { IssuedKey } from './issued-key.tsx'
import { changeKey, type IssuedKey as Issued, type Key, revokeKey, rotateKey } from './keys.ts'
import { LimitFields, readLimits } from './limit-fields.tsx'

const OVERLAPS = [
  ['24', 'works for a day more'],
  ['1', 'works for an hour more'],
  ['0', 'ends at once'],
] as const

type ChangeProps = { row: Key; onClose: () => void }

export function EditKey({ row, onClose }: ChangeProps) {
  const submit = async (values: FormValues) => {
    await changeKey(row.id, { name: values.read('name'), ...readLimits(values) })
    toast(`${values.read('name')} is changed.`)
    onClose()
  }
  return (
    <Dialog title={`Edit ${row.name}`} onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField name="name" label="Name" defaultValue={row.name} maxLength={200} required />
        <LimitFields row={row} />
        <FormActions action="Save" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function RotateKey({ row, onClose }: ChangeProps) {
  const [issued, setIssued] = useState<Issued | undefined>()
  if (issued)
    return <IssuedKey issued={issued} title={`The new secret of ${row.name}`} onClose={onClose} />
  return (
    <Dialog title={`Replace the secret of ${row.name}`} onClose={onClose}>
      <Form
        onSubmit={async (values) =>
          setIssued(await rotateKey(row.id, Number(values.read('overlap_hours'))))
        }
      >
        <p>The key stays: its name, limits, spending and history. Only its secret is new.</p>
        <SelectField name="overlap_hours" label="The present secret" choices={OVERLAPS} />
        <FormActions action="Make a new secret" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function RevokeKey({ row, onClose }: ChangeProps) {
  const revoke = async () => {
    await revokeKey(row.id)
    toast(`${row.name} is revoked.`)
    onClose()
  }
  return (
    <ConfirmByTyping
      title={`Revoke ${row.name}`}
      name={row.name}
      action="Revoke the key"
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>Programs that use this key fail at once. It cannot be undone.</p>
      <p className="soft">
        {row.last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            Last used <Time at={row.last_used_at} as="distance" />.
          </>
        )}
      </p>
    </ConfirmByTyping>
  )
}
