// Asks again who somebody is, when the API wants a proof of the last 15 minutes, and lets what waits go on.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import { settleProof } from '../step-up.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogActions } from '../ui/dialog.tsx'
import { Form, SubmitButton, TextField, wrongField } from '../ui/form.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'

export default function StepUpDialog() {
  const options = useQuery({
    queryKey: ['step-up'],
    queryFn: () => ask(() => api.POST('/auth/step-up/options')),
    // Options for a passkey are good once.
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
  })
  const cancel = () => settleProof(false)
  return (
    <Dialog title="Is it you?" onClose={cancel}>
      <p className="soft">This needs a fresh proof. It is good for 15 minutes.</p>
      {options.error && <ProblemNotice problem={options.error} />}
      {options.isPending && <Skeleton />}
      {options.data && <Proofs {...options.data} onCancel={cancel} />}
    </Dialog>
  )
}

type ProofsProps = { proofs: string[]; passkey_options: unknown; onCancel: () => void }

function Proofs({ proofs, passkey_options, onCancel }: ProofsProps) {
  const has_code = proofs.includes('totp')
  return (
    <>
      {proofs.includes('passkey') && (
        <Form onSubmit={() => proveByPasskey(passkey_options)}>
          <SubmitButton>Use a passkey</SubmitButton>
        </Form>
      )}
      <Form
        onSubmit={async (values) => {
          const field = has_code ? 'totp' : 'password'
          await prove({ [field]: values.readExact(field) }, field)
        }}
      >
        {has_code ? (
          <TextField
            name="totp"
            label="Code of your authenticator app"
            inputMode="numeric"
            autoComplete="one-time-code"
            required
          />
        ) : (
          <TextField
            name="password"
            label="Password"
            type="password"
            autoComplete="current-password"
            required
          />
        )}
        <DialogActions>
          <Button onClick={onCancel}>Cancel</Button>
          <SubmitButton>Continue</SubmitButton>
        </DialogActions>
      </Form>
    </>
  )
}

async function prove(body: { password?: string; totp?: string }, field: string): Promise<void> {
  const { error, response } = await api.POST('/auth/step-up', { body })
  if (response.status === 401) {
    throw wrongField(
      field,
      field === 'totp' ? 'This code is not right.' : 'This password is not right.',
    )
  }
  if (error) await ask(() => Promise.resolve({ error, response }))
  settleProof(true)
}

async function proveByPasskey(options: unknown): Promise<void> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as PublicKeyCredentialRequestOptionsJSON,
  )
  const credential = await navigator.credentials.get({ publicKey }).catch(() => null)
  if (!(credential instanceof PublicKeyCredential)) {
    throw wrongField('passkey', 'The passkey was not used. Try again, or use another way.')
  }
  await ask(() => api.POST('/auth/step-up', { body: { passkey: credential.toJSON() as never } }))
  settleProof(true)
}
