// The dialogs that suspend and resume an account, end its sessions and limit one of its keys.

import { formatCount } from '../../../format.ts'
import { TextField } from '../../../ui/form.tsx'
import { toast } from '../../../ui/toast.tsx'
import { ActDialog } from '../../act-dialog.tsx'
import {
  endSessions,
  limitKey,
  resumeUser,
  suspendUser,
  type UserDetails,
  type UserKey,
} from '../users.ts'

const LIMIT_MAX = 1_000_000

type Props = { user: UserDetails; onClose: () => void }

export function Suspend({ user, onClose }: Props) {
  const submit = async (reason: string) => {
    const { changed } = await suspendUser(user.id, reason)
    toast(changed ? `${user.email} is suspended.` : `${user.email} was suspended before.`)
    onClose()
  }
  return (
    <ActDialog
      title={`Suspend ${user.email}`}
      action="Suspend"
      kind="danger"
      reason_hint="The owner reads it, by mail and with each refused call. Write it for them."
      onAct={submit}
      onClose={onClose}
    >
      <p>
        Nothing new starts with this account’s sessions, keys or apps, within a second. Calls that
        run are finished. Money stays where it is.
      </p>
    </ActDialog>
  )
}

export function Resume({ user, onClose }: Props) {
  const submit = async (reason: string) => {
    const { changed } = await resumeUser(user.id, reason)
    toast(changed ? `${user.email} is resumed.` : `${user.email} was not suspended.`)
    onClose()
  }
  return (
    <ActDialog title={`Resume ${user.email}`} action="Resume" onAct={submit} onClose={onClose}>
      <p>The account is as it was before it was suspended.</p>
    </ActDialog>
  )
}

export function EndSessions({ user, onClose }: Props) {
  const submit = async (reason: string) => {
    const { sessions } = await endSessions(user.id, reason)
    toast(sessions === 1 ? '1 session is ended.' : `${formatCount(sessions)} sessions are ended.`)
    onClose()
  }
  return (
    <ActDialog
      title={`End the sessions of ${user.email}`}
      action="End all sessions"
      kind="danger"
      onAct={submit}
      onClose={onClose}
    >
      <p>The owner has to sign in again everywhere. Keys and apps go on.</p>
    </ActDialog>
  )
}

export function LimitKey({ user, row, onClose }: Props & { row: UserKey }) {
  return (
    <ActDialog
      title={`Limit ${row.name}`}
      action="Set the limit"
      onAct={async (reason, values) => {
        const rate_limit_per_minute = Number(values.read('rate_limit_per_minute'))
        await limitKey({ id: user.id, key_id: row.id }, { rate_limit_per_minute, reason })
        toast(`${row.name} may make ${formatCount(rate_limit_per_minute)} calls a minute.`)
        onClose()
      }}
      onClose={onClose}
    >
      <p>
        The key <code>{row.prefix}…</code> of {user.email}. It takes effect within a second.
      </p>
      <TextField
        name="rate_limit_per_minute"
        label="Calls a minute"
        type="number"
        min={1}
        max={LIMIT_MAX}
        defaultValue={row.rate_limit_per_minute ?? ''}
        required
      />
    </ActDialog>
  )
}
