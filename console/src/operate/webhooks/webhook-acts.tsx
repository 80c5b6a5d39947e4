// The dialogs that switch a webhook off and have sent again what did not arrive.

import { api } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { SelectField } from '../../ui/form.tsx'
import { toast } from '../../ui/toast.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { act } from '../operate.ts'

const HOUR_MS = 3_600_000
const PERIODS = [
  ['1', 'the last hour'],
  ['6', 'the last 6 hours'],
  ['24', 'the last 24 hours'],
  ['72', 'the last 3 days'],
  ['168', 'the last 7 days'],
] as const

type Props = { webhook: { webhook_id: string; url: string | null }; onClose: () => void }

export function PauseWebhook({ webhook, onClose }: Props) {
  const submit = async (reason: string) => {
    const path = { id: webhook.webhook_id }
    const { changed } = await act(() =>
      api.POST('/operator/webhooks/{id}/pause', { params: { path }, body: { reason } }),
    )
    toast(changed ? 'The webhook is switched off.' : 'The webhook was off before.')
    onClose()
  }
  return (
    <ActDialog
      title="Pause a webhook"
      action="Switch it off"
      kind="danger"
      reason_hint="Its developer reads it by mail."
      onAct={submit}
      onClose={onClose}
    >
      <p className="op-id">{webhook.url}</p>
      <p>
        What waits is cancelled. The developer is told by mail, can switch it on again, and can have
        sent again what was cancelled.
      </p>
    </ActDialog>
  )
}

export function RecoverWebhook({ webhook, onClose }: Props) {
  const submit = async (reason: string, since: string) => {
    const path = { id: webhook.webhook_id }
    const { count, has_more } = await act(() =>
      api.POST('/operator/webhooks/{id}/recover', { params: { path }, body: { since, reason } }),
    )
    const rest = has_more ? ' There are more: send again once more.' : ''
    toast(`${formatCount(count)} ${count === 1 ? 'event is' : 'events are'} queued again.${rest}`)
    onClose()
  }
  return (
    <ActDialog
      title="Send again what did not arrive"
      action="Send again"
      onAct={(reason, values) => submit(reason, hoursAgo(Number(values.read('since'))))}
      onClose={onClose}
    >
      <p className="op-id">{webhook.url}</p>
      <p>Up to 10,000 events that failed or were cancelled, oldest first.</p>
      <SelectField name="since" label="Events of" choices={PERIODS} defaultValue="24" />
    </ActDialog>
  )
}

function hoursAgo(hours: number): string {
  return new Date(Date.now() - hours * HOUR_MS).toISOString()
}
