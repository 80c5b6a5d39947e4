// Open holds: what calls that run have reserved, by age and one by one. ?older= filters.

import { Link } from 'wouter'
import { formatCount } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { CreditAmount, Time } from '../../ui/figures.tsx'
import { SelectField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { oneOf, useUrlState } from '../../url-state.ts'
import { formatLength } from '../operate.ts'
import { Figures, Section } from '../parts.tsx'
import { type Book, type Hold, useHolds } from './ledger.ts'

const AGES = [
  ['0', 'All'],
  ['60', 'A minute and more'],
  ['600', 'Ten minutes and more'],
  ['3600', 'An hour and more'],
] as const
const VIEW = { older: oneOf(['0', '60', '600', '3600'], '0') }

type Sums = Book['holds']

export function Holds({ sums }: { sums: Sums | undefined }) {
  const [{ older }, setView] = useUrlState(VIEW)
  const holds = useHolds(Number(older))
  return (
    <>
      {sums && <Figures figures={agesOf(sums)} />}
      <Section
        title="One by one"
        note="Oldest first."
        actions={
          <SelectField
            name="older"
            label="Age"
            value={older}
            choices={AGES}
            onChange={(event) =>
              setView({ older: AGES.find(([age]) => age === event.target.value)?.[0] ?? '0' })
            }
          />
        }
      >
        <DataTable
          label="Open holds"
          columns={COLUMNS}
          list={holds}
          rowKey={holdId}
          empty={
            older === '0' ? (
              <EmptyState title="Nothing is reserved">
                <p>A hold stands while its call runs, and is settled or released with its end.</p>
              </EmptyState>
            ) : (
              <EmptyState
                title="No hold is that old"
                action={<Button onClick={() => setView({ older: '0' })}>Show all</Button>}
              >
                <p>Younger ones are not shown.</p>
              </EmptyState>
            )
          }
        />
      </Section>
    </>
  )
}

function agesOf({ by_age }: Sums) {
  return by_age.map(({ younger_than_seconds: until, count, credits }, index) => {
    const from = by_age[index - 1]?.younger_than_seconds ?? 0
    const label =
      until === null
        ? `Holds of ${formatLength(from)} and more`
        : from === 0
          ? `Holds younger than ${formatLength(until)}`
          : `Holds of ${formatLength(from)} to ${formatLength(until)}`
    return {
      label,
      value: formatCount(count),
      note: (
        <>
          <CreditAmount credits={credits} /> credits
        </>
      ),
    }
  })
}

const COLUMNS: Column<Hold>[] = [
  { head: 'Placed', cell: ({ placed_at }) => <Time at={placed_at} as="distance" /> },
  {
    head: 'Wallet',
    cell: ({ account_id }) => (
      <Link to={`/operate/users/${account_id}`} className="op-id">
        {account_id}
      </Link>
    ),
  },
  { head: 'Expires', wide_only: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { head: 'Process', wide_only: true, cell: ({ node_id }) => <code>{node_id}</code> },
  { head: 'Credits', align: 'end', cell: ({ amount }) => <CreditAmount credits={amount} /> },
]

function holdId({ id }: Hold): string {
  return id
}
