// The steps of a first run. Ticks come from what is there, never from a click; each step has its one act ready.

import { useState } from 'react'
import { api, ask } from '../api.ts'
import { asProblem } from '../problem.ts'
import { sampleCalls } from '../sample-call.ts'
import { Button, IconButton, LinkButton } from '../ui/button.tsx'
import { Sign } from '../ui/icons.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'
import type { Account } from './overview.ts'

type StepName = keyof Account['onboarding']
type Step = { name: StepName; title: string; why: string; to?: string; act: string }

const FIRST_STEPS: readonly Step[] = [
  {
    name: 'verify_email',
    title: 'Verify your address',
    why: 'So that you can always get back in.',
    act: 'Send the link',
  },
  {
    name: 'create_key',
    title: 'Create a key',
    why: 'Programs call with it.',
    to: '/keys?create=true',
    act: 'Create a key',
  },
  {
    name: 'first_call',
    title: 'Make a first call',
    why: 'In the playground, which needs no key, or from a terminal.',
    to: '/playground',
    act: 'Open the playground',
  },
  {
    name: 'top_up',
    title: 'Top up',
    why: 'Calls are charged to your balance.',
    to: '/topups',
    act: 'Top up',
  },
]

const PAID_BY_USERS: readonly Step[] = [
  {
    name: 'register_app',
    title: 'Register an app and set your markup',
    why: 'Users sign in to it and pay with their own credits.',
    to: '/apps?create=true',
    act: 'Register an app',
  },
  {
    name: 'add_webhook',
    title: 'Add a webhook',
    why: 'Your server is told of what users do.',
    to: '/webhooks?create=true',
    act: 'Add a webhook',
  },
  {
    name: 'connect_payouts',
    title: 'Connect payouts',
    why: 'Your markup is paid to your bank account.',
    to: '/earnings',
    act: 'Connect payouts',
  },
]

/** What was put away stays away in this browser. */
function useDismissal(account_id: string) {
  const key = `svc_checklist_${account_id}`
  const [is_dismissed, setDismissed] = useState(() => localStorage.getItem(key) !== null)
  const dismiss = () => {
    localStorage.setItem(key, 'dismissed')
    setDismissed(true)
  }
  return [is_dismissed, dismiss] as const
}

export function Checklist({ account }: { account: Account }) {
  const [is_dismissed, dismiss] = useDismissal(account.id)
  const { onboarding, mode, service } = account
  // In sandbox mode nothing costs money, and there is enough to begin with.
  const first = FIRST_STEPS.filter(
    ({ name }) => name !== 'top_up' || (mode === 'live' && service.topup !== null),
  )
  const steps = [...first, ...PAID_BY_USERS]
  const done = steps.filter(({ name }) => onboarding[name]).length
  if (is_dismissed || done === steps.length) return null
  const next = steps.find(({ name }) => !onboarding[name])
  const itemOf = (step: Step) => (
    <ChecklistItem
      key={step.name}
      {...{ step, account }}
      is_done={onboarding[step.name]}
      is_next={step === next}
    />
  )
  return (
    <section className="checklist" aria-labelledby="checklist">
      <header className="section-head">
        <h2 id="checklist">Get started</h2>
        <p className="soft">
          {done} of {steps.length} done
        </p>
        <IconButton sign="close" label="Hide this list" onClick={dismiss} />
      </header>
      <ol>{first.map(itemOf)}</ol>
      <h3>When your users pay</h3>
      <ol>{PAID_BY_USERS.map(itemOf)}</ol>
    </section>
  )
}

type ItemProps = { step: Step; account: Account; is_done: boolean; is_next: boolean }

function ChecklistItem({ step, account, is_done, is_next }: ItemProps) {
  const kind = is_next ? 'primary' : 'plain'
  return (
    <li className={is_done ? 'done' : ''}>
      <span className="tick">{is_done && <Sign name="check" />}</span>
      <div>
        <strong>{step.title}</strong>
        {is_done ? <span className="unseen">, done</span> : <p className="soft">{step.why}</p>}
        {step.name === 'first_call' && is_next && <FirstCall />}
      </div>
      {!is_done && (
        <div className="step-act">
          {step.to === undefined ? (
            <SendLink email={account.email} kind={kind} />
          ) : (
            <LinkButton to={step.to} kind={kind}>
              {step.act}
            </LinkButton>
          )}
        </div>
      )}
    </li>
  )
}

function FirstCall() {
  return (
    <details className="twin">
      <summary>With a key, from a terminal</summary>
      <CodeSnippet label="A first call" samples={sampleCalls()} />
    </details>
  )
}

type Sent = { verify_url?: string | undefined }

/** Where no mail leaves the machine, the answer has the link itself. */
function SendLink({ email, kind }: { email: string; kind: 'primary' | 'plain' }) {
  const [sent, setSent] = useState<Sent | undefined>()
  const [problem, setProblem] = useState<string | undefined>()
  const [busy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      setSent(await ask(() => api.POST('/auth/send-verification')))
    } catch (error) {
      const { message, hint } = asProblem(error)
      setProblem([message, hint].filter(Boolean).join(' '))
    }
    setBusy(false)
  }
  if (sent?.verify_url !== undefined) {
    return (
      <>
        <p className="soft" role="status">
          The sandbox sends no mail. This is its link:
        </p>
        <a className="button primary" href={sent.verify_url}>
          Verify {email}
        </a>
      </>
    )
  }
  return (
    <>
      <p className={problem === undefined ? 'soft' : 'field-error'} role="status">
        {problem ?? (sent && `Sent to ${email}. Open the link in it.`)}
      </p>
      <Button kind={sent ? 'plain' : kind} busy={busy} onClick={() => void send()}>
        {sent ? 'Send it again' : 'Send the link'}
      </Button>
    </>
  )
}
