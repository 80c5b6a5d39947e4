// Where what was earned is now: the stages in their order, and the sum that proves that nothing is missing.

import type { ReactNode } from 'react'
import { inWholeCents } from '../format.ts'
import { CreditAmount, Money, Time } from '../ui/figures.tsx'
import { addParts, PARTS, type Summary } from './earnings.ts'

/** Shown also when they are nothing, because the way of the money goes through them. */
const STAGES: readonly string[] = [
  'on_hold_credits',
  'pending_payout_credits',
  'reserve_held_credits',
  'total_paid_out_credits',
]

export function MoneyFlow({ summary }: { summary: Summary }) {
  const next = summary.pending_payout_credits
  const gathering = summary.accumulating_credits
  return (
    <section aria-labelledby="flow">
      <h2 id="flow" className="unseen">
        Where your earnings are
      </h2>
      <ol className="flow">
        <Stage
          name="On hold"
          note="each earning for seven days"
          credits={summary.on_hold_credits}
        />
        <Stage
          name="Next payout"
          credits={next + (next > 0 ? summary.released_reserve_credits : gathering)}
          note={
            next > 0 ? (
              <Time at={summary.next_batch_at} />
            ) : gathering > 0 ? (
              'goes out once it is $10.00'
            ) : (
              'from $10.00 on, once a day'
            )
          }
        />
        <Stage
          name="Reserve"
          note="a tenth of each payout, for 90 days"
          credits={summary.reserve_held_credits}
        />
        <Stage
          name="Paid out"
          note="to your bank account"
          credits={inWholeCents(summary.total_paid_out_credits)}
        />
      </ol>
      <SumLine summary={summary} />
    </section>
  )
}

function Stage({ name, note, credits }: { name: string; note: ReactNode; credits: number }) {
  return (
    <li>
      <span className="soft">{name}</span>
      <span className="figure">
        <Money credits={credits} />
      </span>
      <span className="soft figure-note">{note}</span>
    </li>
  )
}

function SumLine({ summary }: { summary: Summary }) {
  const shown = PARTS.filter(([part]) => summary[part] !== 0 || STAGES.includes(part))
  const sum = addParts(summary)
  return (
    <table className="sum">
      <caption className="unseen">All you have earned, and where it is, in credits</caption>
      <tbody>
        {shown.map(([part, words]) => (
          <tr key={part}>
            <th scope="row">{words}</th>
            <td className="end">
              <CreditAmount credits={summary[part]} />
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">all you have earned, in credits</th>
          <td className="end">
            <strong className="settled">
              <CreditAmount credits={summary.total_earned_credits} />
            </strong>
          </td>
        </tr>
        {sum !== summary.total_earned_credits && (
          <tr>
            <td colSpan={2} className="field-error">
              The parts are <CreditAmount credits={sum} />. Please tell the operator of this
              service.
            </td>
          </tr>
        )}
      </tfoot>
    </table>
  )
}
