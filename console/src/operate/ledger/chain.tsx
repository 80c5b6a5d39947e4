// The chain of one wallet, by the id of its account (?account=): each line begins where the one before it ended.

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { formatCredits } from '../../format.ts'
import { Time } from '../../ui/figures.tsx'
import { TextField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { FilterBar, readField } from '../parts.tsx'
import { type Line, useChain } from './ledger.ts'

const VIEW = { account: text() }

export function Chain() {
  const [{ account }, setView] = useUrlState(VIEW)
  return (
    <>
      <FilterBar
        key={account}
        label="A wallet’s chain"
        action="Open"
        onApply={(values) => setView({ account: readField(values, 'account') })}
      >
        <TextField
          name="account"
          label="Account id"
          defaultValue={account}
          placeholder="01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10"
          spellCheck={false}
          required
        />
      </FilterBar>
      {account === '' ? (
        <EmptyState title="Open a wallet by its account id">
          <p>
            Its page under <Link to="/operate/users">Users</Link> has the id, and leads here.
          </p>
        </EmptyState>
      ) : (
        <Lines account={account} />
      )}
    </>
  )
}

function Lines({ account }: { account: string }) {
  const lines = useChain(account)
  return (
    <>
      <p className="soft">
        Newest first, in credits. Wallet of{' '}
        <Link to={`/operate/users/${account}`} className="op-id">
          {account}
        </Link>
        .
      </p>
      <DataTable
        label="Lines of the wallet"
        columns={COLUMNS}
        list={lines}
        rowKey={lineKey}
        empty={
          <EmptyState title="No line yet">
            <p>Nothing has moved this balance.</p>
          </EmptyState>
        }
      />
    </>
  )
}

const COLUMNS: Column<Line>[] = [
  {
    head: 'What',
    cell: ({ kind, at, description, sequence }) => (
      <>
        <span className="cell-title">{kind.replaceAll('_', ' ')}</span>
        <span className="soft cell-note">
          #{sequence} · <Time at={at} />
          {description !== null && ` · ${description}`}
        </span>
      </>
    ),
  },
  {
    head: 'Amount',
    align: 'end',
    cell: ({ amount }) => (amount > 0 ? `+${formatCredits(amount)}` : formatCredits(amount)),
  },
  {
    head: 'Balance',
    align: 'end',
    cell: ({ balance_before, balance_after }) => (
      <Change before={formatCredits(balance_before)} after={formatCredits(balance_after)} />
    ),
  },
  {
    head: 'Of it promotional',
    align: 'end',
    wide_only: true,
    cell: ({ promotional_before, promotional_after }) => (
      <Change
        before={
          promotional_before === null ? (
            <span title="The line before is in an archive.">?</span>
          ) : (
            formatCredits(promotional_before)
          )
        }
        after={formatCredits(promotional_after)}
      />
    ),
  },
]

function Change({ before, after }: { before: ReactNode; after: ReactNode }) {
  return (
    <>
      <span className="soft">{before} →</span> {after}
    </>
  )
}

function lineKey({ sequence }: Line): string {
  return String(sequence)
}
