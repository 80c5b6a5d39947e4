// /operate/audit: who did what, when, from where and why. ?who=, ?act= and ?subject= filter, ?open= shows one whole.

import { useMemo } from 'react'
import { api, ask } from '../../api.ts'
import { useList } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/figures.tsx'
import { SelectField, TextField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { SidePanel } from '../../ui/panel.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { OPERATE, type RowOf } from '../operate.ts'
import { Facts, FilterBar, readField } from '../parts.tsx'

type Act = RowOf<'/operator/audit'>

const VIEW = { who: text(), act: text(), subject: text(), open: text() }
const UNFILTERED = { who: '', act: '', subject: '' }

/** What operators can do, as the record names it. */
const ACTS = [
  'account suspend',
  'account resume',
  'account end-sessions',
  'app suspend',
  'app resume',
  'grant',
  'key-limit',
  'ledger check',
  'operator add',
  'operator remove',
  'payouts run',
  'payouts unblock',
  'webhook pause',
  'webhook recover',
]

export default function AuditPage() {
  const [view, setView] = useUrlState(VIEW)
  const { who, act, subject } = view
  const acts = useList<Act>([OPERATE, 'audit', who, act, subject], (page) => {
    const filter = { ...(who && { who }), ...(act && { act }), ...(subject && { subject }) }
    return ask(() => api.GET('/operator/audit', { params: { query: { ...page, ...filter } } }))
  })
  const columns = useMemo(() => columnsOf((open) => setView({ open })), [setView])
  const opened = acts.pages?.flat().find(({ id }) => id === view.open)
  const is_filtered = who !== '' || act !== '' || subject !== ''
  const clear = () => setView(UNFILTERED)
  const known = act === '' || ACTS.includes(act) ? ACTS : [...ACTS, act]
  return (
    <>
      <PageHead
        title="Audit"
        lead="What operators did, newest first. Nobody can change or delete a line."
      />
      <FilterBar
        key={`${who} ${act} ${subject}`}
        label="Audit"
        action="Show"
        onApply={(values) =>
          setView({
            who: readField(values, 'who'),
            act: readField(values, 'act'),
            subject: readField(values, 'subject'),
          })
        }
        onClear={is_filtered ? clear : undefined}
      >
        <TextField name="who" label="Who" defaultValue={who} spellCheck={false} />
        <SelectField
          name="act"
          label="Act"
          defaultValue={act}
          choices={[['', 'All'], ...known.map((name) => [name, name] as const)]}
        />
        <TextField
          name="subject"
          label="To whom or what"
          defaultValue={subject}
          spellCheck={false}
        />
      </FilterBar>
      <DataTable
        label="Acts of operators"
        columns={columns}
        list={acts}
        rowKey={actId}
        empty={<NoActs onClear={is_filtered ? clear : undefined} />}
      />
      {opened && (
        <SidePanel title={opened.act} onClose={() => setView({ open: '' }, { replace: true })}>
          <ActDetails row={opened} />
        </SidePanel>
      )}
    </>
  )
}

function actId({ id }: Act): string {
  return id
}

function NoActs({ onClear }: { onClear: (() => void) | undefined }) {
  if (!onClear) {
    return (
      <EmptyState title="Nothing was done yet">
        <p>Each act of an operator is written here with its reason.</p>
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No act fits these filters"
      action={<Button onClick={onClear}>Clear filters</Button>}
    >
      <p>Each has to be the whole address, act or id.</p>
    </EmptyState>
  )
}

function columnsOf(open: (id: string) => void): Column<Act>[] {
  return [
    {
      head: 'Act',
      cell: ({ id, act, at }) => (
        <>
          <button type="button" className="op-link op-act" onClick={() => open(id)}>
            {act}
          </button>
          <span className="soft cell-note phone-note">
            <Time at={at} as="distance" />
          </span>
        </>
      ),
    },
    {
      head: 'When',
      wide_only: true,
      cell: ({ at }) => (
        <span className="op-act">
          <Time at={at} />
        </span>
      ),
    },
    { head: 'To', cell: ({ subject }) => <span className="op-id">{subject}</span> },
    { head: 'Who', wide_only: true, cell: ({ who }) => <span className="op-id">{who}</span> },
    {
      head: 'Why',
      wide_only: true,
      cell: ({ reason }) => reason ?? <span className="soft">No reason given</span>,
    },
    {
      head: 'From',
      wide_only: true,
      cell: ({ ip }) => <span className="op-act">{ip ?? 'command line'}</span>,
    },
  ]
}

function ActDetails({ row }: { row: Act }) {
  return (
    <>
      <Facts
        facts={[
          ['When', <Time key="at" at={row.at} />],
          ['Who', row.who],
          ['To', row.subject],
          ['Why', row.reason ?? 'No reason given'],
          ['From', row.ip ?? 'Command line'],
          ...(row.session_id === null ? [] : [['Session', row.session_id] as const]),
          ['Id', row.id],
        ]}
      />
      {Object.keys(row.details).length > 0 && (
        <>
          <h3>Details</h3>
          <Facts
            facts={Object.entries(row.details).map(([name, value]) => [name, asText(value)])}
          />
        </>
      )}
    </>
  )
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
