// What can be done with a webhook: two buttons, a menu with the rest, and the dialog of each.

import { useState } from 'react'
import { ActMenu } from '../../ui/act-menu.tsx'
import { Button } from '../../ui/button.tsx'
import { ProblemNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { changeWebhook, type Webhook } from '../webhooks.ts'
import {
  DeleteWebhook,
  EditWebhook,
  EndPreviousSecret,
  PauseWebhook,
  RecoverDeliveries,
  RotateSecret,
  SendTest,
} from './acts.tsx'

export const ACTS = ['test', 'edit', 'pause', 'recover', 'rotate', 'end', 'delete'] as const
export type Act = (typeof ACTS)[number]

export function WebhookActs({ webhook, onOpen }: { webhook: Webhook; onOpen: (act: Act) => void }) {
  return (
    <>
      {webhook.active ? (
        <Button onClick={() => onOpen('test')}>Send a test event</Button>
      ) : (
        <ResumeButton id={webhook.id} />
      )}
      <ActMenu
        label="Change the webhook"
        acts={[
          ['Edit', () => onOpen('edit')],
          webhook.active && ['Send again what failed', () => onOpen('recover')],
          ['Replace the secret', () => onOpen('rotate')],
          webhook.previous_secret_until !== null && [
            'End the previous secret',
            () => onOpen('end'),
          ],
          webhook.active && ['Pause', () => onOpen('pause')],
          ['Delete', () => onOpen('delete')],
        ]}
      />
    </>
  )
}

function ResumeButton({ id }: { id: string }) {
  const [state, setState] = useState<{ busy: boolean; problem?: unknown }>({ busy: false })
  const resume = async () => {
    setState({ busy: true })
    try {
      await changeWebhook(id, { active: true })
      toast('The webhook is sent events again.')
    } catch (problem) {
      setState({ busy: false, problem })
    }
  }
  return (
    <>
      {state.problem !== undefined && <ProblemNotice problem={state.problem} />}
      <Button kind="primary" busy={state.busy} onClick={() => void resume()}>
        Resume
      </Button>
    </>
  )
}

export function ActDialog(props: {
  act: Act
  webhook: Webhook
  onClose: () => void
  onSent: (delivery_id: string) => void
}) {
  const { act, webhook, onClose } = props
  const given = { webhook, onClose }
  switch (act) {
    case 'test':
      return <SendTest {...given} onSent={props.onSent} />
    case 'edit':
      return <EditWebhook {...given} />
    case 'pause':
      return <PauseWebhook {...given} />
    case 'recover':
      return <RecoverDeliveries {...given} />
    case 'rotate':
      return <RotateSecret {...given} />
    case 'end':
      return <EndPreviousSecret {...given} />
    case 'delete':
      return <DeleteWebhook {...given} />
  }
}
