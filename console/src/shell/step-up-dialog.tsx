// Asks again who somebody is, when the API wants a proof of the last 15 minutes, and lets what waits go on.

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api.ts'
import { settleProof } from '../step-up.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form, SubmitButton, TextField, wrongField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
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
  const [field, setField] = useState<TypedProof>(has_code ? 'totp' : 'password')
  return (
    <>
      {proofs.includes('passkey') && <PasskeyProof options={passkey_options} />}
      <Form
        key={field}
        onSubmit={async (values) => await prove({ [field]: values.readExact(field) }, field)}
      >
        {field === 'totp' ? (
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
        {has_code && (
          <Button kind="quiet" onClick={() => setField(field === 'totp' ? 'password' : 'totp')}>
            {field === 'totp' ? 'Use your password instead' : 'Use a code instead'}
          </Button>
        )}
        <FormActions action="Continue" onCancel={onCancel} />
      </Form>
    </>
  )
}

type TypedProof = 'password' | 'totp'

/** There are no options where the service is reached by a number instead of a name: passkeys belong to names. */
function PasskeyProof({ options }: { options: unknown }) {
  if (options === null) return <p className="soft">Your passkey does not work at this address.</p>
  // Browsers of before 2025 know passkeys, and not how to read what the service sends.
  const is_able =
    'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential
  if (!is_able) {
    return (
      <p className="soft">
        This browser is too old to use your passkey here. Prove it another way:
      </p>
    )
  }
  return (
    <Form onSubmit={() => proveByPasskey(options)}>
      <SubmitButton>Use a passkey</SubmitButton>
    </Form>
  )
}

async function prove(body: { password?: string; totp?: string }, field: TypedProof): Promise<void> {
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
