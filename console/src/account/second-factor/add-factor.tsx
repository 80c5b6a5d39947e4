// The dialogs that add a factor. The first of an account brings recovery codes along.

import { type ReactNode, useState } from 'react'
import { CopyButton } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form, type FormValues, TextField } from '../../ui/form.tsx'
import { FormActions } from '../../ui/form-actions.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Added, addPasskey, type BegunApp, beginApp, confirmApp } from './factors.ts'
import { RecoveryCodes } from './recovery-codes.tsx'

type AddProps = { onClose: () => void }

export function AddPasskey({ onClose }: AddProps) {
  return (
    <AddFactor onClose={onClose}>
      {(settle) => (
        <Dialog title="Add a passkey" onClose={onClose}>
          <Form onSubmit={async (values) => settle(await addPasskey(values.read('name')))}>
            <p>
              Your browser asks for a finger, a face, a PIN or a security key. Nothing of it reaches
              us.
            </p>
            <TextField
              name="name"
              label="Name"
              hint="For your own eyes: which device it is."
              defaultValue="Passkey"
              maxLength={100}
              required
            />
            <FormActions action="Create the passkey" onCancel={onClose} />
          </Form>
        </Dialog>
      )}
    </AddFactor>
  )
}

export function AddApp({ onClose }: AddProps) {
  const [begun, setBegun] = useState<BegunApp | undefined>()
  return (
    <AddFactor onClose={onClose}>
      {(settle) => (
        <Dialog title="Add an authenticator app" onClose={onClose}>
          {begun ? (
            <ConfirmApp begun={begun} settle={settle} onClose={onClose} />
          ) : (
            <Form onSubmit={async () => setBegun(await beginApp())}>
              <p>
                An app on your phone that shows a new code every 30 seconds, such as Aegis, 2FAS,
                1Password or Google Authenticator.
              </p>
              <FormActions action="Show the picture to scan" onCancel={onClose} />
            </Form>
          )}
        </Dialog>
      )}
    </AddFactor>
  )
}

function ConfirmApp(props: {
  begun: BegunApp
  settle: (added: Added) => void
  onClose: () => void
}) {
  const { begun, settle, onClose } = props
  const submit = async (values: FormValues) => settle(await confirmApp(values.read('code')))
  return (
    <Form onSubmit={submit}>
      <p>Scan the picture with the app, then type the code that it shows. You have 5 minutes.</p>
      <img
        className="qr"
        src={`data:image/svg+xml,${encodeURIComponent(begun.qr_svg)}`}
        width={208}
        height={208}
        alt="The secret as a picture for the app"
      />
      <div className="row typed-secret">
        <span className="soft">Or type this secret:</span>
        <code>{begun.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
        <CopyButton text={begun.secret} label="Copy the secret" />
      </div>
      <TextField
        name="code"
        label="Code"
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={20}
        required
        autoFocus
      />
      <FormActions action="Add the app" onCancel={onClose} />
    </Form>
  )
}

/** Shows the codes that come with a first factor, or says that one more is added. */
function AddFactor(props: {
  onClose: () => void
  children: (settle: (added: Added) => void) => ReactNode
}) {
  const { onClose, children } = props
  const [added, setAdded] = useState<Added | undefined>()
  const settle = (what: Added) => {
    if (what.recovery_codes !== null) return setAdded(what)
    toast(`${what.factor.name} is added.`)
    onClose()
  }
  if (added?.recovery_codes) {
    const lead = `${added.factor.name} is added. Signing in asks for it from now on.`
    return <RecoveryCodes codes={added.recovery_codes} lead={lead} onClose={onClose} />
  }
  return children(settle)
}
