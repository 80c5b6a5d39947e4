// The consent page as users will see it, in the words of src/oauth/pages.ts; a test holds the two against each other.
// Drawn, not framed: no page of this service lets itself be framed. Nothing in it can be pressed.

import type { ReactNode } from 'react'
import { CREDITS_PER_DOLLAR, formatCount } from '../format.ts'
import { type AppDraft, readAddresses, readMarkup } from './app-fields.tsx'

const EXAMPLE_CREDITS = 100_000
const PROPOSED_CAP_USD = '10.00'
const PROPOSED_PUBLIC_CAP_USD = '5.00'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

type Viewer = { email: string; balance: number }

export function ConsentPreview({ draft, viewer }: { draft: AppDraft; viewer: Viewer }) {
  const spends = draft.scopes.includes('credits.spend')
  const name = draft.name.trim() === '' ? 'Your app' : draft.name.trim()
  const is_public = draft.client_type !== 'web_server'
  const { place, is_loopback } = readReturn(draft.redirect_uris)
  return (
    <section className="consent" aria-label="Preview of the consent page">
      <h3>
        Let <bdi>{name}</bdi> {spends ? 'use your credits?' : 'see your balance?'}
      </h3>
      {is_public && <PublicApp draft={draft} name={name} email={viewer.email} />}
      <dl className="consent-between">
        <div>
          <dt>Returns you to</dt>
          <dd>
            <strong>{place}</strong>
            {is_loopback && ', a program on this computer'}
          </dd>
        </div>
        <div>
          <dt>Your account</dt>
          <dd>
            <strong>{viewer.email}</strong> <span className="consent-link">Not you?</span>
          </dd>
        </div>
      </dl>
      <Part title="What the app may do">
        <ul className="consent-grants">
          <li>
            <strong>See who you are:</strong> your email address.
          </li>
          {draft.scopes.includes('credits.read') && (
            <li>
              <strong>See your balance,</strong> now {exactDollars(viewer.balance)}.
            </li>
          )}
          {spends && (
            <li>
              <strong>Spend your credits:</strong> AI calls that the app makes for you are paid from
              your balance.
            </li>
          )}
        </ul>
      </Part>
      {spends && (
        <Part title="What you pay">
          <p>
            <Price markup_percent={readMarkup(draft.markup)} />
          </p>
        </Part>
      )}
      {spends && <Cap is_required={is_public} />}
      <div className="consent-decision">
        <span className="button primary">Allow</span>
        <span className="button">Deny</span>
      </div>
      <p className="field-hint">
        {spends ? 'You can change the cap or disconnect the app' : 'You can disconnect the app'} at
        any time under <span className="consent-link">connected apps</span>.
      </p>
    </section>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="consent-part">
      <h4>{title}</h4>
      {children}
    </div>
  )
}

function Price({ markup_percent }: { markup_percent: number | undefined }) {
  if (markup_percent === undefined) return <>This markup is not possible.</>
  if (markup_percent === 0) return <>The plain price of each call. The app adds nothing.</>
  const basis_points = Math.round(markup_percent * 100)
  const paid = EXAMPLE_CREDITS + Math.floor((EXAMPLE_CREDITS * basis_points) / 10_000)
  return (
    <>
      The price of each call plus <strong>{markup_percent}%</strong>, which goes to the makers of
      the app: for a call of {exactDollars(EXAMPLE_CREDITS)} you pay {exactDollars(paid)}.
    </>
  )
}

/** Of a page the place is known; a program is only what it calls itself. */
function PublicApp(props: { draft: AppDraft; name: string; email: string }) {
  const { client_type, redirect_uris, scopes } = props.draft
  const who = (
    <>
      <strong>
        <bdi>{props.name}</bdi>
      </strong>{' '}
      by <bdi>{props.email}</bdi>
    </>
  )
  return (
    <p>
      {client_type === 'browser' ? (
        <>
          {who} ({readReturn(redirect_uris).place}) runs in your browser without a server.
        </>
      ) : (
        <>
          An app on this device that calls itself {who}. Allow it only if you have just started it.
        </>
      )}{' '}
      {scopes.includes('credits.spend') && (
        <>
          It may spend up to <strong>${PROPOSED_PUBLIC_CAP_USD}</strong> a month of your credits, or
          what you enter below, until you stop it.
        </>
      )}
    </p>
  )
}

function Cap({ is_required }: { is_required: boolean }) {
  return (
    <div className="consent-cap">
      <p className="consent-legend">Spending cap for this app</p>
      <p className="consent-choice chosen">At most this much each month</p>
      <p className="consent-amount">
        $ <span>{is_required ? PROPOSED_PUBLIC_CAP_USD : PROPOSED_CAP_USD}</span>
      </p>
      <p className="field-hint">Calls beyond it are refused until the first of the next month.</p>
      {!is_required && <p className="consent-choice">No cap: as far as my balance goes</p>}
    </div>
  )
}

function readReturn(addresses: string): { place: string; is_loopback: boolean } {
  const [first = ''] = readAddresses(addresses)
  if (!URL.canParse(first)) return { place: 'your address', is_loopback: false }
  const { host, hostname, protocol } = new URL(first)
  const is_loopback = protocol === 'http:' && LOOPBACK.includes(hostname)
  return { place: host === '' ? protocol : host, is_loopback }
}

/** As the page writes it: to the credit, with cents at least. */
function exactDollars(credits: number): string {
  const [cents = '', rest = ''] =
    /^(..)(.*?)0*$/.exec(String(credits % CREDITS_PER_DOLLAR).padStart(6, '0'))?.slice(1) ?? []
  return `$${formatCount(Math.floor(credits / CREDITS_PER_DOLLAR))}.${cents}${rest}`
}
