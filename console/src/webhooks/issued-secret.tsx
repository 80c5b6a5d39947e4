// The signing secret of a webhook, shown once. It lives in the state of its dialog and nowhere else.

import { useState } from 'react'
import { Button, LinkButton } from '../ui/button.tsx'
import { SecretOnce } from '../ui/copy.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import type { WebhookWithSecret } from './webhooks.ts'

const GUARD = 'You have not copied the secret. It cannot be shown again.'

export function IssuedSecret(props: {
  issued: WebhookWithSecret
  title: string
  onClose: () => void
  /** A new webhook leads to its page, where it can be tried. */
  is_new?: boolean
}) {
  const { issued, title, onClose, is_new = false } = props
  const [is_taken, setTaken] = useState(false)
  return (
    <Dialog title={title} onClose={onClose} guard={is_taken ? undefined : GUARD}>
      <p>
        Your receiver needs this secret to tell our requests from anybody else’s. Copy it now; it
        cannot be shown again.
      </p>
      <SecretOnce secret={issued.secret} label="Signing secret" onTaken={() => setTaken(true)} />
      {issued.previous_secret_until !== null && (
        <p className="soft">
          Until the old secret ends, deliveries are signed with both. End it on this page as soon as
          your receivers have the new one.
        </p>
      )}
      <DialogActions>
        <Button kind={is_taken && !is_new ? 'primary' : 'plain'} onClick={onClose}>
          Done
        </Button>
        {is_new && is_taken && (
          <LinkButton kind="primary" to={`/webhooks/${issued.id}?act=test`}>
            Send a test event
          </LinkButton>
        )}
      </DialogActions>
    </Dialog>
  )
}
