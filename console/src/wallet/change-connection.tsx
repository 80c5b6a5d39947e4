// The dialogs of an app: another cap, and the end of the connection. And when to be told of a low balance.

import { readDollars, writeDollars } from '../format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Money, Time } from '../ui/figures.tsx'
import { Form, type FormValues, SelectField, TextField, wrongField } from '../ui/form.tsx'
import { FormActions } from '../ui/form-actions.tsx'
import { toast } from '../ui/toast.tsx'
import { type Account, type Connection, disconnect, setCap, setLowBalance } from './wallet.ts'

const PERIODS = [
  ['month', 'a month'],
  ['day', 'a day'],
] as const

type ChangeProps = { row: Connection; onClose: () => void }

export function ChangeCap({ row, onClose }: ChangeProps) {
  const { cap_credits: cap, cap_period } = row
  const is_required = row.client_type !== 'web_server'
  const submit = async (values: FormValues) => {
    await setCap(row.client_id, {
      cap_credits: readOptionalDollars(values, 'cap_credits'),
      cap_period: values.read('cap_period') === 'day' ? 'day' : 'month',
    })
    toast(`The cap of ${row.name} is changed.`)
    onClose()
  }
  return (
    <Dialog title={`Cap of ${row.name}`} onClose={onClose}>
      <Form onSubmit={submit}>
        <p>
          The most that it may spend. It has spent <Money credits={row.spent_credits} />{' '}
          {cap_period === 'day' ? 'today' : 'this month'} (UTC); a cap below that stops it until the
          next {cap_period}.
        </p>
        <div className="field-pair">
          <TextField
            name="cap_credits"
            label="Cap"
            prefix="$"
            inputMode="decimal"
            hint={is_required ? 'It runs without a server, so it needs a cap.' : 'Empty: no cap.'}
            required={is_required}
            defaultValue={cap === null ? '' : writeDollars(cap)}
          />
          <SelectField
            name="cap_period"
            label="Period"
            choices={PERIODS}
            defaultValue={cap_period}
          />
        </div>
        <FormActions action="Save" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

export function Disconnect({ row, onClose }: ChangeProps) {
  const submit = async () => {
    await disconnect(row.client_id)
    toast(`${row.name} is disconnected.`)
    onClose()
  }
  const spends = row.scopes.includes('credits.spend')
  return (
    <Dialog title={`Disconnect ${row.name}`} onClose={onClose}>
      <Form onSubmit={submit}>
        <ul className="stops">
          {spends && (
            <li>It cannot spend your credits any more: its calls for you fail at once.</li>
          )}
          <li>It cannot see your address and your balance any more.</li>
          <li>What it has spent stays spent, and in your statement.</li>
          <li>To connect it again, sign in at the app once more.</li>
        </ul>
        <p className="soft">
          {row.last_used_at === null ? (
            'It was never used.'
          ) : (
            <>
              Last used <Time at={row.last_used_at} as="distance" />.
            </>
          )}
        </p>
        <FormActions action="Disconnect" onCancel={onClose} cancel="Keep it" kind="danger" />
      </Form>
    </Dialog>
  )
}

export function LowBalance({ account, onClose }: { account: Account; onClose: () => void }) {
  const low = account.low_balance_credits
  const submit = async (values: FormValues) => {
    await setLowBalance(readOptionalDollars(values, 'low_balance_credits'))
    toast('Saved.')
    onClose()
  }
  return (
    <Dialog title="Mail when the balance is low" onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField
          name="low_balance_credits"
          label="When it falls below"
          prefix="$"
          inputMode="decimal"
          hint={`One mail to ${account.email} each time it falls below. Empty: none.`}
          defaultValue={low === null ? '' : writeDollars(low)}
        />
        <FormActions action="Save" onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

/** Null if nothing was typed. */
function readOptionalDollars(values: FormValues, field: string): number | null {
  const typed = values.read(field)
  if (typed === '') return null
  const credits = readDollars(typed)
  if (credits === undefined || credits === 0) {
    throw wrongField(field, 'Enter dollars, such as 25 or 2.50, or leave it empty.')
  }
  return credits
}
