// /account: the address and the password. Each dialog is an address: ?change_email=true, ?change_password=true.

import { useState } from 'react'
import { asProblem } from '../problem.ts'
import { useAccount } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { Badge, Time } from '../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { flag, useUrlState } from '../url-state.ts'
import { sendVerification } from './account.ts'
import { AccountNav } from './account-nav.tsx'
import { ChangeEmail, ChangePassword } from './change-account.tsx'

const VIEW = { change_email: flag(), change_password: flag() }
const CLOSED = { change_email: false, change_password: false }

export default function AccountPage() {
  const [view, setView] = useUrlState(VIEW)
  const account = useAccount()
  const close = () => setView(CLOSED, { replace: true })
  const { data } = account
  return (
    <>
      <PageHead title="Account" />
      <AccountNav />
      {account.error && (
        <ProblemNotice problem={account.error} onRetry={() => void account.refetch()} />
      )}
      {account.isPending && <Skeleton />}
      {data && (
        <dl className="facts">
          <div>
            <dt>Email address</dt>
            <dd>
              {data.email}{' '}
              <Badge tone={data.email_verified ? 'good' : 'warn'}>
                {data.email_verified ? 'Verified' : 'Not verified'}
              </Badge>
              {!data.email_verified && <Verification email={data.email} />}
            </dd>
            <dd className="fact-act">
              <Button onClick={() => setView({ change_email: true })}>Change the address</Button>
            </dd>
          </div>
          <div>
            <dt>Password</dt>
            <dd className="soft">Only its digest is stored.</dd>
            <dd className="fact-act">
              <Button onClick={() => setView({ change_password: true })}>
                Change the password
              </Button>
            </dd>
          </div>
          <div>
            <dt>Account id</dt>
            <dd>
              <code>{data.id}</code>
            </dd>
            <dd className="fact-act">
              <CopyButton text={data.id} label="Copy the id" />
            </dd>
          </div>
          <div>
            <dt>Since</dt>
            <dd>
              <Time at={data.created_at} as="day" />
            </dd>
          </div>
        </dl>
      )}
      {view.change_email && data && <ChangeEmail email={data.email} onClose={close} />}
      {view.change_password && data && <ChangePassword email={data.email} onClose={close} />}
    </>
  )
}

/** What came of it is said beside the button. */
function Verification({ email }: { email: string }) {
  const [said, setSaid] = useState('')
  const [busy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    try {
      const is_sent = await sendVerification()
      setSaid(is_sent ? `A mail is on its way to ${email}.` : 'It is verified already.')
    } catch (error) {
      const { message, retry_after_s } = asProblem(error)
      const minutes = Math.ceil((retry_after_s ?? 0) / 60)
      setSaid(minutes > 0 ? `${message} Try again in ${minutes} min.` : message)
    }
    setBusy(false)
  }
  return (
    <div className="verification">
      <p className="soft">
        Follow the link in the mail to verify it. <span role="status">{said}</span>
      </p>
      <Button busy={busy} onClick={() => void send()}>
        Send again
      </Button>
    </div>
  )
}
