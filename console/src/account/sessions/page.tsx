// /account/sessions: where the account is signed in. ?end=others asks before all others end.

import { useMemo } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Badge, Time } from '../../ui/figures.tsx'
import { Form } from '../../ui/form.tsx'
import { FormActions } from '../../ui/form-actions.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { toast } from '../../ui/toast.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { endOtherSessions, endSession, type Session, useSessions } from '../account.ts'
import { AccountNav } from '../account-nav.tsx'

const OTHERS = 'others'
const VIEW = { end: text() }

export default function SessionsPage() {
  const [view, setView] = useUrlState(VIEW)
  const sessions = useSessions()
  const rows = sessions.pages?.flat() ?? []
  const columns = useMemo(() => [...COLUMNS, endColumn((id) => setView({ end: id }))], [setView])
  const close = () => setView({ end: '' }, { replace: true })
  const ended = rows.find((row) => row.id === view.end)
  return (
    <>
      <PageHead title="Sessions" lead="Where you are signed in. End what you do not recognise.">
        {rows.some((row) => !row.current) && (
          <Button onClick={() => setView({ end: OTHERS })}>Sign out everywhere else</Button>
        )}
      </PageHead>
      <AccountNav />
      <DataTable
        label="Sessions"
        columns={columns}
        list={sessions}
        rowKey={sessionId}
        empty={<p className="soft">There is no session.</p>}
      />
      {view.end === OTHERS && <EndOthers onClose={close} />}
      {ended && <EndOne row={ended} onClose={close} />}
    </>
  )
}

function sessionId(row: Session): string {
  return row.id
}

function EndOthers({ onClose }: { onClose: () => void }) {
  const submit = async () => {
    const ended = await endOtherSessions()
    toast(ended === 1 ? 'One session has ended.' : `${ended} sessions have ended.`)
    onClose()
  }
  return (
    <Dialog title="Sign out everywhere else" onClose={onClose}>
      <Form onSubmit={submit}>
        <p>
          Every session but this one ends at once. API keys and connected apps go on. If somebody
          else was signed in, change the password too.
        </p>
        <FormActions action="Sign out everywhere else" onCancel={onClose} kind="danger" />
      </Form>
    </Dialog>
  )
}

function EndOne({ row, onClose }: { row: Session; onClose: () => void }) {
  const submit = async () => {
    await endSession(row.id)
    toast('The session has ended.')
    onClose()
  }
  return (
    <Dialog title="End this session" onClose={onClose}>
      <Form onSubmit={submit}>
        <p>
          <strong>{row.device}</strong>, {row.place}, last seen{' '}
          <Time at={row.last_seen_at} as="distance" />. It ends at once; whoever uses it has to sign
          in again.
        </p>
        <FormActions action="End the session" onCancel={onClose} kind="danger" />
      </Form>
    </Dialog>
  )
}

const COLUMNS: Column<Session>[] = [
  {
    head: 'Device',
    cell: ({ device, place, current }) => (
      <>
        <span className="cell-title">
          {device} {current && <Badge tone="good">This browser</Badge>}
        </span>
        <span className="soft cell-note">{place}</span>
      </>
    ),
  },
  {
    head: 'Signed in',
    wide_only: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  { head: 'Last seen', cell: ({ last_seen_at }) => <Time at={last_seen_at} as="distance" /> },
  {
    head: 'Ends',
    wide_only: true,
    cell: ({ expires_at }) => <Time at={expires_at} as="distance" />,
  },
]

function endColumn(end: (id: string) => void): Column<Session> {
  return {
    head: 'Acts',
    head_unseen: true,
    align: 'end',
    cell: ({ id, device, place, current }) =>
      !current && (
        <Button aria-label={`End ${device}, ${place}`} onClick={() => end(id)}>
          End
        </Button>
      ),
  }
}
