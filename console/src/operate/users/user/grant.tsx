// The dialog that gives credits. Its Idempotency-Key lives as long as the dialog: if an answer is lost, pressing again
// gives nothing twice.

import { useState } from 'react'
import { formatCredits, formatDollars, readDollars } from '../../../format.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { ChoiceField, type FormValues, TextField, wrongField } from '../../../ui/form.tsx'
import { ActDialog } from '../../act-dialog.tsx'
import { useIdempotencyKey } from '../../operate.ts'
import { Facts } from '../../parts.tsx'
import { grantCredits, type UserDetails } from '../users.ts'

const KINDS = [
  {
    value: 'promotional',
    label: 'A present',
    hint: 'Promotional credits. Calls spend them first.',
  },
  { value: 'paid', label: 'Paid for elsewhere', hint: 'Counts as money, like a top-up.' },
]

type Given = Awaited<ReturnType<typeof grantCredits>>

export function Grant({ user, onClose }: { user: UserDetails; onClose: () => void }) {
  const key = useIdempotencyKey()
  const [given, setGiven] = useState<Given | undefined>()
  if (given) return <GrantGiven given={given} user={user} onClose={onClose} />
  const submit = async (reason: string, values: FormValues) => {
    const credits = readDollars(values.read('credits'))
    if (credits === undefined) throw wrongField('credits', 'Enter dollars, such as 25 or 2.50.')
    const paid = values.read('kind') === 'paid'
    setGiven(await grantCredits(user.id, { credits, paid, reason }, key))
  }
  return (
    <ActDialog
      title={`Grant credits to ${user.email}`}
      action="Grant"
      onAct={submit}
      onClose={onClose}
    >
      <TextField
        name="credits"
        label="Amount"
        prefix="$"
        inputMode="decimal"
        hint={`The balance is ${formatDollars(user.balance_credits ?? 0)}. Pressing twice in this dialog gives once.`}
        required
      />
      <ChoiceField name="kind" label="Kind" choices={KINDS} defaultValue="promotional" />
    </ActDialog>
  )
}

function GrantGiven(props: { given: Given; user: UserDetails; onClose: () => void }) {
  const { given, user, onClose } = props
  return (
    <Dialog title="Credits are granted" onClose={onClose}>
      <Facts
        facts={[
          ['To', user.email],
          ['Amount', `${formatDollars(given.credits)} (${formatCredits(given.credits)} credits)`],
          ['Kind', given.paid ? 'Paid for elsewhere' : 'A present'],
          [
            'Balance',
            <>
              <span className="soft">{formatDollars(given.balance_before)} →</span>{' '}
              <span className="settled">{formatDollars(given.balance_after)}</span>
            </>,
          ],
          ['Grant', <code key="id">{given.id}</code>],
        ]}
      />
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  )
}
