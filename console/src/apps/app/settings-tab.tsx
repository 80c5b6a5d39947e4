// The settings of one app, with the consent page beside them as it would be.

import { useState } from 'react'
import { useAccount } from '../../queries.ts'
import { Form, SubmitButton } from '../../ui/form.tsx'
import { toast } from '../../ui/toast.tsx'
import { AppFields, draftOf, MoreAppFields, readDraft, readMarkup } from '../app-fields.tsx'
import { type AppWithUsers, changeApp } from '../apps.ts'
import { ConsentPreview } from '../consent-preview.tsx'

export function SettingsTab({ app }: { app: AppWithUsers }) {
  const [draft, setDraft] = useState(() => draftOf(app))
  const { data: account } = useAccount()
  const change = (changed: Partial<typeof draft>) => setDraft({ ...draft, ...changed })
  const submit = async () => {
    await changeApp(app.id, readDraft(draft))
    toast('The settings are saved.')
  }
  const is_raised = (readMarkup(draft.markup) ?? 0) > app.markup_percent
  return (
    <div className="app-settings">
      <div className="app-form">
        <Form onSubmit={submit}>
          <AppFields draft={draft} onChange={change} />
          {is_raised && app.connected_users > 0 && (
            <p className="field-hint" role="status">
              Connected users go on paying {app.markup_percent} % until they have seen and allowed
              the higher markup. Ask them again.
            </p>
          )}
          <MoreAppFields draft={draft} onChange={change} />
          <div className="row">
            <SubmitButton>Save</SubmitButton>
          </div>
        </Form>
      </div>
      <div className="app-preview">
        <h2>What users see</h2>
        <p className="soft">The consent page, as these settings make it.</p>
        <ConsentPreview
          draft={draft}
          viewer={{ email: account?.email ?? '', balance: account?.balance ?? 0 }}
        />
      </div>
    </div>
  )
}
