// A new secret, shown once. It lives in the state of its dialog and nowhere else.

import { useState } from 'react'
import { sampleCalls } from '../sample-call.ts'
import { Button } from '../ui/button.tsx'
import { SecretOnce } from '../ui/copy.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'
import type { IssuedKey as Issued } from './keys.ts'

const GUARD = 'You have not copied the key. It cannot be shown again.'

export function IssuedKey({
  issued,
  title,
  onClose,
}: {
  issued: Issued
  title: string
  onClose: () => void
}) {
  const [is_taken, setTaken] = useState(false)
  const user_id = issued.billing_mode === 'user' ? 'YOUR-USER-ID' : undefined
  return (
    <Dialog title={title} onClose={onClose} guard={is_taken ? undefined : GUARD}>
      <p>Copy it now and keep it like a password. It cannot be shown again.</p>
      <SecretOnce secret={issued.key} label="Key" onTaken={() => setTaken(true)} />
      <h3>Try it</h3>
      {/* Filled in for the clipboard; what is shown holds the beginning only. */}
      <CodeSnippet
        label="A first call"
        samples={sampleCalls(`${issued.prefix}…`, user_id)}
        copied={sampleCalls(issued.key, user_id)}
      />
      <DialogActions>
        <Button kind={is_taken ? 'primary' : 'plain'} onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  )
}
