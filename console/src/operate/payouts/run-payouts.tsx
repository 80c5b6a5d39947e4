// Paying: the dry run says who gets how much; the run is made by typing its total. If the total has changed in between,
// nothing is paid, the new one is shown and said, and it has to be typed.

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { formatCents, formatCount, readDollars } from '../../format.ts'
import { ApiProblem } from '../../problem.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Money } from '../../ui/figures.tsx'
import { Form, type FormValues, TextField, wrongField } from '../../ui/form.tsx'
import { FormActions } from '../../ui/form-actions.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { toast } from '../../ui/toast.tsx'
import { ReasonField } from '../act-dialog.tsx'
import { fixedList, useIdempotencyKey } from '../operate.ts'
import { Loaded } from '../parts.tsx'
import { type DryRun, type Due, readDryRun, runPayouts } from './payouts.ts'

const CREDITS_PER_CENT = 10_000
const TOTAL_CHANGED = 409

export function RunPayouts({ onClose }: { onClose: () => void }) {
  const [total_before, setTotalBefore] = useState<number | undefined>()
  const dry_run = useQuery({
    // Not among what operators read: only this dialog decides when it looks again.
    queryKey: ['dry-run'],
    queryFn: readDryRun,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })
  const key = useIdempotencyKey()
  const lookAgain = async (seen: number) => {
    await dry_run.refetch()
    setTotalBefore(seen)
  }
  return (
    <Dialog title="Dry run" onClose={onClose}>
      <Loaded query={dry_run} lines={4}>
        {(found) => (
          <>
            {total_before !== undefined && total_before !== found.total_cents && (
              <p className="op-note" role="alert">
                The total has changed from {formatCents(total_before)} to{' '}
                {formatCents(found.total_cents)}. Nothing was paid. Look at it again.
              </p>
            )}
            <Found found={found} />
            {found.total_cents > 0 && (
              <Pay {...{ found, onClose }} idempotency_key={key} onChanged={lookAgain} />
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

function Found({ found }: { found: DryRun }) {
  const { total_cents, developers, suspended, payouts } = found
  if (developers === 0) {
    return (
      <p>
        Nobody is due now.
        {suspended > 0 && ` ${formatCount(suspended)} would be, and is suspended.`}
      </p>
    )
  }
  return (
    <>
      <p>
        A run now would pay <strong>{formatCents(total_cents)}</strong> to {formatCount(developers)}{' '}
        {developers === 1 ? 'developer' : 'developers'}
        {suspended > 0 &&
          `, and nothing to ${formatCount(suspended)} who would be due and is suspended`}
        . Transfers in doubt are resolved too and are not in the total.
      </p>
      <DataTable
        label="Who is due"
        columns={DUE_COLUMNS}
        list={fixedList(payouts)}
        rowKey={developerId}
        empty={null}
      />
      {payouts.length < developers && (
        <p className="soft">The first {formatCount(payouts.length)} are shown.</p>
      )}
    </>
  )
}

const DUE_COLUMNS: Column<Due>[] = [
  {
    head: 'Developer',
    cell: ({ developer_id, developer_email }) => (
      <Link to={`/operate/users/${developer_id}`} className="op-id" title={developer_id}>
        {developer_email ?? developer_id}
      </Link>
    ),
  },
  {
    head: 'Earned',
    align: 'end',
    wide_only: true,
    cell: ({ gross_credits }) => <Money credits={gross_credits} />,
  },
  {
    head: 'Reserve',
    align: 'end',
    wide_only: true,
    cell: ({ reserve_credits }) => <Money credits={reserve_credits} />,
  },
  { head: 'Paid', align: 'end', cell: ({ amount_cents }) => formatCents(amount_cents) },
]

function developerId({ developer_id }: Due): string {
  return developer_id
}

function Pay(props: {
  found: DryRun
  idempotency_key: string
  onChanged: (seen: number) => Promise<void>
  onClose: () => void
}) {
  const { found, idempotency_key, onChanged, onClose } = props
  const { total_cents } = found
  const submit = async (values: FormValues) => {
    if (readDollars(values.read('expected_total_cents')) !== total_cents * CREDITS_PER_CENT) {
      throw wrongField('expected_total_cents', `The total is ${formatCents(total_cents)}.`)
    }
    const wanted = { expected_total_cents: total_cents, reason: values.read('reason') }
    try {
      await runPayouts(wanted, idempotency_key)
    } catch (error) {
      if (!isChange(error)) throw error
      return await onChanged(total_cents)
    }
    toast('The run has begun. Its outcome appears in the list.')
    onClose()
  }
  return (
    <Form onSubmit={submit}>
      <ReasonField />
      <TextField
        // What was typed for another total is gone; the reason stays.
        key={total_cents}
        name="expected_total_cents"
        label={`Type the total to pay it: ${formatCents(total_cents)}`}
        prefix="$"
        inputMode="decimal"
        required
      />
      <FormActions action={`Pay ${formatCents(total_cents)}`} onCancel={onClose} kind="danger" />
    </Form>
  )
}

function isChange(error: unknown): boolean {
  return (
    error instanceof ApiProblem &&
    error.status === TOTAL_CHANGED &&
    error.param === 'expected_total_cents'
  )
}
