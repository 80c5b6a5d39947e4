// The dialog that adds a webhook, and then shows its secret once.

import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { Form, SelectField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
import { IssuedSecret } from './issued-secret.tsx'
import { NEW_WEBHOOK, readDraft, WebhookFields } from './webhook-fields.tsx'
import { createWebhook, type WebhookWithSecret } from './webhooks.ts'

type App = { client_id: string; name: string }

export function AddWebhook({ apps, onClose }: { apps: readonly App[]; onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_WEBHOOK)
  const [issued, setIssued] = useState<WebhookWithSecret | undefined>()
  if (issued) {
    return <IssuedSecret is_new issued={issued} title="The webhook is added" onClose={onClose} />
  }
  return (
    <Dialog title="Add a webhook" onClose={onClose}>
      <Form
        onSubmit={async (values) =>
          setIssued(
            await createWebhook({ client_id: values.read('client_id'), ...readDraft(draft) }),
          )
        }
      >
        <SelectField
          name="client_id"
          label="App"
          hint="It is told of the events of this app."
          choices={apps.map(({ client_id, name }) => [client_id, name] as const)}
        />
        <WebhookFields draft={draft} onChange={(change) => setDraft({ ...draft, ...change })} />
        <FormActions action="Add" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
