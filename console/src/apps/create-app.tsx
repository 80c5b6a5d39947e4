// The dialog that registers an app, and then shows its secret once.

import { useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
import { AppFields, KindField, NEW_APP, readDraft } from './app-fields.tsx'
import { type AppWithSecret, createApp } from './apps.ts'
import { IssuedSecret } from './issued-secret.tsx'

export function CreateApp({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_APP)
  const change = (changed: Partial<typeof draft>) => setDraft({ ...draft, ...changed })
  const [issued, setIssued] = useState<AppWithSecret | undefined>()
  if (issued) {
    return (
      <IssuedSecret is_new issued={issued} title={`${issued.name} is made`} onClose={onClose} />
    )
  }
  return (
    <Dialog title="Create an app" onClose={onClose}>
      <Form onSubmit={async () => setIssued(await createApp(readDraft(draft)))}>
        <KindField draft={draft} onChange={change} />
        <AppFields draft={draft} onChange={change} />
        <FormActions action="Create" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
