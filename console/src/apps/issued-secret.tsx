// A client secret, shown once. It lives in the state of its dialog and nowhere else. An app without a server has none.

import { useState } from 'react'
import { Button, LinkButton } from '../ui/button.tsx'
import { CopyButton, SecretOnce } from '../ui/copy.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import type { AppWithSecret } from './apps.ts'

const GUARD = 'You have not copied the secret. It cannot be shown again.'

export function IssuedSecret(props: {
  issued: AppWithSecret
  title: string
  onClose: () => void
  /** A new app leads to its page, where connecting users is explained. */
  is_new?: boolean
}) {
  const { issued, title, onClose, is_new = false } = props
  const { client_secret } = issued
  const [is_taken, setTaken] = useState(client_secret === undefined)
  return (
    <Dialog title={title} onClose={onClose} guard={is_taken ? undefined : GUARD}>
      {client_secret === undefined ? (
        <p>This app has no secret: its id is all that it needs.</p>
      ) : (
        <>
          <p>Copy the secret now and keep it on your server. It cannot be shown again.</p>
          <SecretOnce secret={client_secret} label="Client secret" onTaken={() => setTaken(true)} />
        </>
      )}
      <h3>Client id</h3>
      <p className="app-id">
        <code>{issued.client_id}</code>
        <CopyButton text={issued.client_id} label="Copy id" />
      </p>
      <DialogActions>
        <Button kind={is_taken && !is_new ? 'primary' : 'plain'} onClick={onClose}>
          Done
        </Button>
        {is_new && is_taken && (
          <LinkButton kind="primary" to={`/apps/${issued.id}?tab=connect`}>
            Connect your users
          </LinkButton>
        )}
      </DialogActions>
    </Dialog>
  )
}
