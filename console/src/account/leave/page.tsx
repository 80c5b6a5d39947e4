// /account/leave: closing the account, with what is left named before and after. ?confirm=true asks once more.

import { focusManager } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccount } from '../../queries.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { ConfirmByTyping } from '../../ui/confirm.tsx'
import { Money, Time } from '../../ui/figures.tsx'
import { ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { flag, useUrlState } from '../../url-state.ts'
import { type Closing, closeAccount, useEarnings } from '../account.ts'
import { AccountNav } from '../account-nav.tsx'

const VIEW = { confirm: flag() }
const WAY_BACK = '/account/restore'

export default function LeavePage() {
  const [view, setView] = useUrlState(VIEW)
  const [closing, setClosing] = useState<Closing | undefined>()
  const account = useAccount()
  const close = () => setView({ confirm: false }, { replace: true })
  if (closing) return <Left closing={closing} />
  const leave = async () => {
    setClosing(await closeAccount())
    // There is no session any more: coming back to this tab must not ask for one.
    focusManager.setFocused(false)
    close()
  }
  return (
    <>
      <PageHead title="Close the account" />
      <AccountNav />
      {account.error && <ProblemNotice problem={account.error} />}
      {account.isPending && <Skeleton />}
      {account.data && (
        <div className="text-part">
          <h2>What is left</h2>
          <WhatIsLeft balance={account.data.balance} />
          <h2>What happens</h2>
          <ul className="plain-list">
            <li>
              At once, every session and API key ends and every connected app is disconnected.
            </li>
            <li>The saved payment method is forgotten.</li>
            <li>Apps of your own serve their users for 30 days more.</li>
            <li>
              For 30 days you can come back with your address and password. Then the account is
              deleted, and what is left of its balance is forfeited.
            </li>
          </ul>
          <div className="row">
            <Button kind="danger" onClick={() => setView({ confirm: true })}>
              Close the account
            </Button>
            <LinkButton to="/account" kind="quiet">
              Keep it
            </LinkButton>
          </div>
        </div>
      )}
      {view.confirm && account.data && (
        <ConfirmByTyping
          title="Close the account"
          name={account.data.email}
          action="Close the account"
          onConfirm={leave}
          onClose={close}
        >
          <p>
            You are signed out everywhere at once. <Money credits={account.data.balance} /> stays in
            the account for 30 days, in case you come back.
          </p>
        </ConfirmByTyping>
      )}
    </>
  )
}

function WhatIsLeft({ balance }: { balance: number }) {
  const earnings = useEarnings()
  const sums = earnings.data?.summary
  const open =
    sums && sums.total_earned_credits - sums.total_paid_out_credits - sums.not_payable_credits
  return (
    <>
      <dl className="left-sums">
        <div>
          <dt>Balance, forfeited after 30 days</dt>
          <dd>
            <Money credits={balance} />
          </dd>
        </div>
        {sums && sums.total_earned_credits > 0 && (
          <>
            <div>
              <dt>Earnings not yet paid out</dt>
              <dd>
                <Money credits={open ?? 0} />
              </dd>
            </div>
            <div>
              <dt>Earned with promotional credits, never paid out</dt>
              <dd>
                <Money credits={sums.not_payable_credits} />
              </dd>
            </div>
          </>
        )}
      </dl>
      {earnings.error && <ProblemNotice problem={earnings.error} />}
      {earnings.isPending && <Skeleton lines={1} />}
      {open !== undefined && open > 0 && (
        <p className="soft">
          Earnings are paid as they fall due, to your payout account, also after the deletion, in
          payouts of $10 at least. Without a payout account, or below that, they lapse.
        </p>
      )}
    </>
  )
}

function Left({ closing: { closes_at, balance_credits, earnings } }: { closing: Closing }) {
  return (
    <>
      <PageHead title="Your account is closed" />
      <div className="text-part" role="status">
        <p>
          It is deleted on{' '}
          <strong>
            <Time at={closes_at} as="day" />
          </strong>
          . Until then <Money credits={balance_credits} /> waits in it, and you can come back with
          your address and password.
        </p>
        {earnings.open_credits > 0 && (
          <p>
            {earnings.has_payout_account ? (
              <>
                <Money credits={earnings.open_credits} /> of earnings is paid to your payout account
                as it falls due.
              </>
            ) : (
              <>
                <Money credits={earnings.open_credits} /> of earnings lapses, because there is no
                payout account.
              </>
            )}
          </p>
        )}
        <div className="row">
          <a className="button plain" href={WAY_BACK}>
            Come back
          </a>
        </div>
      </div>
    </>
  )
}
