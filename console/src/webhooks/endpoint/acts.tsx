// The dialogs of one webhook: a test event, editing, pausing, sending everything again, its secret, deleting it.

import { useState } from 'react'
import { useLocation } from 'wouter'
import { formatCount } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmByTyping } from '../../ui/confirm.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { Time } from '../../ui/figures.tsx'
import { Form, SelectField, TextField, wrongField } from '../../ui/form.tsx'
import { FormActions } from '../../ui/form-actions.tsx'
import { toast } from '../../ui/toast.tsx'
import { EVENT_NAMES } from '../event-catalogue.ts'
import { IssuedSecret } from '../issued-secret.tsx'
import { draftOf, readDraft, WebhookFields } from '../webhook-fields.tsx'
import {
  changeWebhook,
  deleteWebhook,
  endPreviousSecret,
  rotateWebhookSecret,
  type Webhook,
  type WebhookWithSecret,
} from '../webhooks.ts'
import { recoverSince, sendTestEvent } from './deliveries.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const OVERLAPS = [
  ['86400', 'a day'],
  ['3600', 'an hour'],
  ['604800', 'a week'],
  ['0', 'not at all: it ends at once'],
] as const

type ActProps = { webhook: Webhook; onClose: () => void }

/** `onSent` is told which delivery it became. */
export function SendTest(props: ActProps & { onSent: (delivery_id: string) => void }) {
  const { webhook, onClose, onSent } = props
  return (
    <Dialog title="Send a test event" onClose={onClose}>
      <Form
        onSubmit={async (values) => {
          const typed = values.read('event_type')
          const event_type = EVENT_NAMES.find((name) => name === typed) ?? 'usage.completed'
          const delivery = await sendTestEvent(webhook.id, event_type)
          onSent(delivery.id)
        }}
      >
        <p>
          An example, marked with <code>"test": true</code>, is sent to <code>{webhook.url}</code>{' '}
          once.
        </p>
        <SelectField
          name="event_type"
          label="Event"
          choices={EVENT_NAMES.map((name) => [name, name] as const)}
          defaultValue={webhook.events[0] ?? 'usage.completed'}
        />
        <FormActions action="Send" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function EditWebhook({ webhook, onClose }: ActProps) {
  const [draft, setDraft] = useState(() => draftOf(webhook))
  return (
    <Dialog title="Change the webhook" onClose={onClose}>
      <Form
        onSubmit={async () => {
          await changeWebhook(webhook.id, readDraft(draft))
          toast('The webhook is changed.')
          onClose()
        }}
      >
        <WebhookFields draft={draft} onChange={(change) => setDraft({ ...draft, ...change })} />
        <FormActions action="Save" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function PauseWebhook({ webhook, onClose }: ActProps) {
  return (
    <Dialog title="Pause the webhook" onClose={onClose}>
      <Form
        onSubmit={async () => {
          await changeWebhook(webhook.id, { active: false })
          toast('The webhook is paused.')
          onClose()
        }}
      >
        <p>
          Nothing is sent until you resume it. Retries that fall due meanwhile are cancelled, and
          what happens meanwhile is not told later.
        </p>
        <FormActions action="Pause" onCancel={onClose} kind="danger" />
      </Form>
    </Dialog>
  )
}

export function RecoverDeliveries({ webhook, onClose }: ActProps) {
  const [done, setDone] = useState<{ count: number; has_more: boolean } | undefined>()
  if (done) {
    return (
      <Dialog title="Send again what failed" onClose={onClose}>
        <p role="status">{describeRecovered(done)}</p>
        <DialogActions>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    )
  }
  return (
    <Dialog title="Send again what failed" onClose={onClose}>
      <Form
        onSubmit={async (values) => {
          const since = new Date(values.read('since'))
          if (Number.isNaN(since.getTime())) throw wrongField('since', 'Enter a day and a time.')
          setDone(await recoverSince(webhook.id, since.toISOString()))
        }}
      >
        <p>
          Everything that failed or was cancelled since then is sent once more, oldest first, at
          most 10,000 at a time.
        </p>
        <TextField
          name="since"
          label="Since"
          type="datetime-local"
          hint="In your own time zone. Deliveries are kept for 30 days."
          required
          defaultValue={localTime(Date.now() - DAY_MS)}
        />
        <FormActions action="Send again" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function describeRecovered({ count, has_more }: { count: number; has_more: boolean }): string {
  if (count === 0) return 'Nothing has failed since then.'
  const sent = count === 1 ? 'One delivery is' : `${formatCount(count)} deliveries are`
  return `${sent} being sent again.${has_more ? ' There are more: ask once more later.' : ''}`
}

/** As the field takes it: without a zone. */
function localTime(at_ms: number): string {
  const offset_ms = new Date(at_ms).getTimezoneOffset() * MINUTE_MS
  return new Date(at_ms - offset_ms).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length)
}

export function RotateSecret({ webhook, onClose }: ActProps) {
  const [issued, setIssued] = useState<WebhookWithSecret | undefined>()
  if (issued) {
    return <IssuedSecret issued={issued} title="The new signing secret" onClose={onClose} />
  }
  return (
    <Dialog title="Replace the signing secret" onClose={onClose}>
      <Form
        onSubmit={async (values) =>
          setIssued(await rotateWebhookSecret(webhook.id, Number(values.read('overlap_seconds'))))
        }
      >
        <p>
          For a while deliveries are signed with both secrets, so that no receiver breaks while you
          hand out the new one.
        </p>
        <SelectField name="overlap_seconds" label="Both sign for" choices={OVERLAPS} />
        <FormActions action="Make a new secret" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function EndPreviousSecret({ webhook, onClose }: ActProps) {
  return (
    <Dialog title="End the previous secret" onClose={onClose}>
      <Form
        onSubmit={async () => {
          await endPreviousSecret(webhook.id)
          toast('Only the new secret signs from now on.')
          onClose()
        }}
      >
        <p>
          Receivers that still have the old secret will refuse deliveries.
          {webhook.previous_secret_until !== null && (
            <>
              {' '}
              By itself it ends <Time at={webhook.previous_secret_until} as="distance" />.
            </>
          )}
        </p>
        <FormActions action="End it now" onCancel={onClose} kind="danger" />
      </Form>
    </Dialog>
  )
}

export function DeleteWebhook({ webhook, onClose }: ActProps) {
  const [, navigate] = useLocation()
  const { host } = new URL(webhook.url)
  const confirm = async () => {
    await deleteWebhook(webhook.id)
    toast('The webhook is deleted.')
    navigate('/webhooks', { replace: true })
  }
  return (
    <ConfirmByTyping
      title="Delete the webhook"
      name={host}
      action="Delete the webhook"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>Nothing is sent to it any more, and its log goes with it. It cannot be undone.</p>
    </ConfirmByTyping>
  )
}
