// The dialog that checks the book now, and then says what each proof has found.

import { useState } from 'react'
import { formatCount } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { Badge } from '../../ui/figures.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { fixedList, formatMilliseconds } from '../operate.ts'
import { checkBook } from './ledger.ts'

type Report = Awaited<ReturnType<typeof checkBook>>
type Proof = Report['proofs'][number]

export function CheckBook({ onClose }: { onClose: () => void }) {
  const [report, setReport] = useState<Report | undefined>()
  if (report) return <Outcome report={report} onClose={onClose} />
  return (
    <ActDialog
      title="Check the book now"
      action="Check"
      onAct={async (reason) => setReport(await checkBook(reason))}
      onClose={onClose}
    >
      <p>
        Every proof over what came since the last seal, in one snapshot. Nobody waits for it. On a
        large book it may take too long here: run <code>svc ledger check</code> then.
      </p>
    </ActDialog>
  )
}

function Outcome({ report, onClose }: { report: Report; onClose: () => void }) {
  return (
    <Dialog title={report.ok ? 'The book is right' : 'The book is not right'} onClose={onClose}>
      <p className="soft">
        {report.proofs.length} proofs in {formatMilliseconds(report.duration_ms)}.
      </p>
      <DataTable
        label="Proofs"
        columns={PROOF_COLUMNS}
        list={fixedList(report.proofs)}
        rowKey={proofName}
        empty={null}
      />
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  )
}

const PROOF_COLUMNS: Column<Proof>[] = [
  {
    head: 'Proof',
    cell: ({ name, first }) => (
      <>
        <span className="cell-title">{name.replaceAll('_', ' ')}</span>
        {first !== null && <span className="cell-note">{first}</span>}
      </>
    ),
  },
  { head: 'Looked at', align: 'end', wide_only: true, cell: ({ checked }) => formatCount(checked) },
  {
    head: 'Outcome',
    align: 'end',
    cell: ({ differences }) =>
      differences === 0 ? (
        <Badge tone="good">Right</Badge>
      ) : (
        <Badge tone="danger">{formatCount(differences)} differences</Badge>
      ),
  },
]

function proofName({ name }: Proof): string {
  return name
}
