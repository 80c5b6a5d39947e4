// /account/second-factor: passkeys, the authenticator app and recovery codes. Each dialog is an address: ?add=passkey,
// ?add=app, ?remove= with an id, ?codes=true.

import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Badge, Time } from '../../ui/figures.tsx'
import { Form } from '../../ui/form.tsx'
import { FormActions } from '../../ui/form-actions.tsx'
import { EmptyState, ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { toast } from '../../ui/toast.tsx'
import { flag, oneOf, text, useUrlState } from '../../url-state.ts'
import { AccountNav } from '../account-nav.tsx'
import { AddApp, AddPasskey } from './add-factor.tsx'
import {
  type Factor,
  type Factors,
  makeRecoveryCodes,
  removeFactor,
  useFactors,
} from './factors.ts'
import { RecoveryCodes } from './recovery-codes.tsx'

const VIEW = { add: oneOf(['', 'passkey', 'app'], ''), remove: text(), codes: flag() }
const CLOSED = { add: '', remove: '', codes: false } as const
const FEW_CODES = 3

export default function SecondFactorPage() {
  const [view, setView] = useUrlState(VIEW)
  const factors = useFactors()
  const { data } = factors
  const close = () => setView(CLOSED, { replace: true })
  const removed = data?.data.find((factor) => factor.id === view.remove)
  const has_app = data?.data.some((factor) => factor.kind === 'totp') === true
  const ways = (
    <div className="row">
      <Button
        kind={data?.data.length === 0 ? 'primary' : 'plain'}
        sign="plus"
        onClick={() => setView({ add: 'passkey' })}
      >
        Add a passkey
      </Button>
      {!has_app && (
        <Button sign="plus" onClick={() => setView({ add: 'app' })}>
          Add an app
        </Button>
      )}
    </div>
  )
  return (
    <>
      <PageHead
        title="Second factor"
        lead="Asked for after the password, and before what could cost you dearly."
      >
        {data && data.data.length > 0 && ways}
      </PageHead>
      <AccountNav />
      {factors.error && (
        <ProblemNotice problem={factors.error} onRetry={() => void factors.refetch()} />
      )}
      {factors.isPending && <Skeleton />}
      {data?.data.length === 0 && (
        <EmptyState title="Your password alone signs in" action={ways}>
          <p>
            A second factor keeps your credits safe from whoever learns your password: a passkey (a
            phone, a laptop or a security key) or an authenticator app.
          </p>
        </EmptyState>
      )}
      {data && data.data.length > 0 && (
        <FactorList
          factors={data}
          onRemove={(id) => setView({ remove: id })}
          onCodes={() => setView({ codes: true })}
        />
      )}
      {view.add === 'passkey' && <AddPasskey onClose={close} />}
      {view.add === 'app' && <AddApp onClose={close} />}
      {view.codes && <NewCodes onClose={close} />}
      {removed && <RemoveFactor row={removed} is_last={data?.data.length === 1} onClose={close} />}
    </>
  )
}

type ListProps = { factors: Factors; onRemove: (id: string) => void; onCodes: () => void }

function FactorList({ factors, onRemove, onCodes }: ListProps) {
  const left = factors.recovery_codes_left
  return (
    <dl className="facts">
      {factors.data.map((factor) => (
        <div key={factor.id}>
          <dt>{factor.kind === 'totp' ? 'App' : 'Passkey'}</dt>
          <dd>
            <strong className="cell-title">{factor.name}</strong>
            <span className="soft cell-note">
              Since <Time at={factor.created_at} as="day" />
              {factor.last_used_at === null ? (
                ', not used yet'
              ) : (
                <>
                  , last used <Time at={factor.last_used_at} as="distance" />
                </>
              )}
            </span>
          </dd>
          <dd className="fact-act">
            <Button aria-label={`Remove ${factor.name}`} onClick={() => onRemove(factor.id)}>
              Remove
            </Button>
          </dd>
        </div>
      ))}
      <div>
        <dt>Recovery codes</dt>
        <dd>
          {left} of 10 left {left <= FEW_CODES && <Badge tone="warn">Few left</Badge>}
          <span className="soft cell-note">Each signs you in once, when your device is lost.</span>
        </dd>
        <dd className="fact-act">
          <Button onClick={onCodes}>Make new codes</Button>
        </dd>
      </div>
    </dl>
  )
}

type RemoveProps = { row: Factor; is_last: boolean; onClose: () => void }

function RemoveFactor({ row, is_last, onClose }: RemoveProps) {
  const submit = async () => {
    await removeFactor(row.id)
    toast(`${row.name} is removed.`)
    onClose()
  }
  return (
    <Dialog title={`Remove ${row.name}`} onClose={onClose}>
      <Form onSubmit={submit}>
        <p>
          {is_last
            ? 'It is your last second factor: your password alone signs in afterwards, and the recovery codes end too.'
            : 'It cannot be used to sign in any more. Your other factors stay.'}
        </p>
        <FormActions action="Remove" onCancel={onClose} cancel="Keep it" kind="danger" />
      </Form>
    </Dialog>
  )
}

function NewCodes({ onClose }: { onClose: () => void }) {
  const [codes, setCodes] = useState<string[] | undefined>()
  if (codes) return <RecoveryCodes codes={codes} onClose={onClose} />
  return (
    <Dialog title="Make new recovery codes" onClose={onClose}>
      <Form onSubmit={async () => setCodes(await makeRecoveryCodes())}>
        <p>You get ten new ones. The codes that you have end at once.</p>
        <FormActions action="Make new codes" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
