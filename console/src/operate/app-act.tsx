// Suspending an app and letting it go on: from its developer's page and from the list of apps.

import { toast } from '../ui/toast.tsx'
import { ActDialog } from './act-dialog.tsx'
import { setAppSuspended } from './operate.ts'

type App = { client_id: string; name: string; suspended_at: string | null }

export function AppAct({ app, onClose }: { app: App; onClose: () => void }) {
  const is_suspended = app.suspended_at !== null
  const submit = async (reason: string) => {
    await setAppSuspended(app.client_id, !is_suspended, reason)
    toast(`${app.name} is ${is_suspended ? 'resumed' : 'suspended'}.`)
    onClose()
  }
  return is_suspended ? (
    <ActDialog
      title={`Resume ${app.name}`}
      action="Resume the app"
      onAct={submit}
      onClose={onClose}
    >
      <p>It is as it was before it was suspended.</p>
    </ActDialog>
  ) : (
    <ActDialog
      title={`Suspend ${app.name}`}
      action="Suspend the app"
      kind="danger"
      reason_hint="Its developer reads it, by mail and with each refused call."
      onAct={submit}
      onClose={onClose}
    >
      <p>
        Nothing new starts through it, within a second. Its tokens and links are refused until it is
        resumed.
      </p>
    </ActDialog>
  )
}
