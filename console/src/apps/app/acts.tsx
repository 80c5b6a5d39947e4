// The dialogs that replace the secret of an app and delete the app.

import { useState } from 'react'
import { useLocation } from 'wouter'
import { formatCount } from '../../format.ts'
import { ConfirmByTyping } from '../../ui/confirm.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form, SelectField } from '../../ui/form.tsx'
import { FormActions } from '../../ui/form-actions.tsx'
import { toast } from '../../ui/toast.tsx'
import { type AppWithSecret, type AppWithUsers, deleteApp, rotateSecret } from '../apps.ts'
import { IssuedSecret } from '../issued-secret.tsx'

/** Up to where the service counts. */
const COUNTED_MAX = 10_000

const OVERLAPS = [
  ['24', 'a day'],
  ['1', 'an hour'],
  ['72', 'three days'],
  ['0', 'not at all: it ends at once'],
] as const

type ActProps = { app: AppWithUsers; onClose: () => void }

export function RotateSecret({ app, onClose }: ActProps) {
  const [issued, setIssued] = useState<AppWithSecret | undefined>()
  if (issued) {
    const title = `The new secret of ${app.name}`
    return <IssuedSecret issued={issued} title={title} onClose={onClose} />
  }
  return (
    <Dialog title={`Replace the secret of ${app.name}`} onClose={onClose}>
      <Form
        onSubmit={async (values) =>
          setIssued(await rotateSecret(app.id, Number(values.read('overlap_hours'))))
        }
      >
        <p>
          You get a new secret. The old one stays good for a while, so that your servers can change
          one by one. Tokens of users stay as they are.
        </p>
        <SelectField
          name="overlap_hours"
          label="The old secret stays good for"
          choices={OVERLAPS}
        />
        <FormActions action="Make a new secret" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function DeleteApp({ app, onClose }: ActProps) {
  const [, navigate] = useLocation()
  const confirm = async () => {
    await deleteApp(app.id)
    toast(`${app.name} is deleted.`)
    navigate('/apps', { replace: true })
  }
  return (
    <ConfirmByTyping
      title={`Delete ${app.name}`}
      name={app.name}
      action="Delete the app"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>{describeLoss(app.connected_users)} It cannot be undone.</p>
      <p className="soft">
        Its tokens, links, webhooks and the API keys that are bound to it end at once. What you
        earned stays yours.
      </p>
    </ConfirmByTyping>
  )
}

function describeLoss(users: number): string {
  if (users === 0) return 'Nobody is connected to it.'
  if (users === 1) return 'One connected user loses access.'
  const count = users >= COUNTED_MAX ? `${formatCount(users)} or more` : formatCount(users)
  return `${count} connected users lose access.`
}
