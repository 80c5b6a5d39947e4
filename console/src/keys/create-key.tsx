// The dialog that creates a key, and then shows its secret once.

import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { ChoiceField, Form, type FormValues, SelectField, TextField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
import { IssuedKey } from './issued-key.tsx'
import { createKey, type IssuedKey as Issued } from './keys.ts'
import { LimitFields, readLimits } from './limit-fields.tsx'

const WHO_PAYS = [
  { value: 'developer', label: 'You', hint: 'Calls are charged to your balance.' },
  {
    value: 'user',
    label: 'Your users',
    hint: 'Each call names a user who has connected your app, and is charged to them.',
  },
]

type App = { client_id: string; name: string }

export function CreateKey({ apps, onClose }: { apps: readonly App[]; onClose: () => void }) {
  const [issued, setIssued] = useState<Issued | undefined>()
  if (issued) return <IssuedKey issued={issued} title="Your new key" onClose={onClose} />
  const submit = async (values: FormValues) => setIssued(await createKey(readNewKey(values)))
  const choices = [['', 'Any'] as const, ...apps.map((app) => [app.client_id, app.name] as const)]
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField
          name="name"
          label="Name"
          hint="For your own eyes, such as production."
          maxLength={200}
          required
        />
        <ChoiceField
          name="billing_mode"
          label="Who pays"
          choices={WHO_PAYS}
          defaultValue="developer"
        />
        {apps.length > 0 && (
          <SelectField
            name="client_id"
            label="App"
            hint="A key of one app finds that app’s users only."
            choices={choices}
          />
        )}
        <LimitFields />
        <FormActions action="Create" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function readNewKey(values: FormValues) {
  const client_id = values.read('client_id')
  return {
    name: values.read('name'),
    billing_mode:
      values.read('billing_mode') === 'user' ? ('user' as const) : ('developer' as const),
    client_id: client_id === '' ? null : client_id,
    ...readLimits(values),
  }
}
