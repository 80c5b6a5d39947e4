// /operate/ledger: whether the book is right, what is reserved, and the chain of a wallet. ?tab=holds, ?tab=chain with
// ?account=, ?check=true.

import { formatCount, formatCredits } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, CreditAmount, Time } from '../../ui/figures.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { UrlTabs } from '../../ui/tabs.tsx'
import { flag, useUrlState } from '../../url-state.ts'
import { fixedList, formatMilliseconds } from '../operate.ts'
import { Figures, Loaded, Section } from '../parts.tsx'
import { Chain } from './chain.tsx'
import { CheckBook } from './check-book.tsx'
import { Holds } from './holds.tsx'
import { type Book, type Check, type Seal, useBook } from './ledger.ts'

const VIEW = { check: flag() }

export default function LedgerPage() {
  const [view, setView] = useUrlState(VIEW)
  const book = useBook()
  return (
    <>
      <PageHead
        title="Ledger"
        lead="Every credit moves in lines that sum to zero. A part of the book is checked every five minutes."
      >
        <Button kind="primary" onClick={() => setView({ check: true })}>
          Check the book now
        </Button>
      </PageHead>
      <UrlTabs
        label="Ledger"
        tabs={[
          {
            id: 'book',
            label: 'Book',
            content: <Loaded query={book}>{(data) => <BookState book={data} />}</Loaded>,
          },
          { id: 'holds', label: 'Open holds', content: <Holds sums={book.data?.holds} /> },
          { id: 'chain', label: 'A wallet’s chain', content: <Chain /> },
        ]}
      />
      {view.check && <CheckBook onClose={() => setView({ check: false }, { replace: true })} />}
    </>
  )
}

function BookState({ book }: { book: Book }) {
  return (
    <>
      <Verdict book={book} />
      <BookFigures book={book} />
      <Accounts book={book} />
      <Section title="Last check of each part" note="Latest first.">
        <DataTable
          label="Checks"
          columns={CHECK_COLUMNS}
          list={fixedList(book.checks)}
          rowKey={partOf}
          empty={
            <EmptyState title="No check was made yet">
              <p>The worker makes one every five minutes; the button above makes one now.</p>
            </EmptyState>
          }
        />
      </Section>
      <Section
        title="Seals"
        note="A month that is over is sealed: its digest names the one before."
      >
        <DataTable
          label="Seals"
          columns={SEAL_COLUMNS}
          list={fixedList(book.seals)}
          rowKey={monthOf}
          empty={<p className="soft">No month was sealed yet.</p>}
        />
      </Section>
    </>
  )
}

function BookFigures({ book }: { book: Book }) {
  const { accounts, wallets_below_zero, holds, checks } = book
  return (
    <Figures
      figures={[
        {
          label: 'Sum of all accounts, last whole check',
          value:
            accounts === null ? (
              <span className="soft">Not added up yet</span>
            ) : (
              <span className={accounts.sum === '0' ? 'settled' : ''}>
                {formatCredits(accounts.sum)}
              </span>
            ),
          note: accounts === null ? 'A check of the whole book does' : 'It has to be 0',
        },
        {
          label: 'Wallets below zero',
          value: wallets_below_zero ?? 'Unknown',
          note:
            wallets_below_zero === 0
              ? 'The database refuses one'
              : 'The constraint is gone: run a check',
        },
        {
          label: 'Reserved now',
          value: <CreditAmount credits={holds.credits} />,
          note: `credits in ${formatCount(holds.count)} open holds`,
        },
        { label: 'Parts checked', value: formatCount(checks.length) },
      ]}
    />
  )
}

function Verdict({ book: { ok, checks } }: { book: Book }) {
  const wrong = checks.filter((check) => !check.ok)
  return (
    <div className="op-notes">
      {ok === null && <p className="op-note">Nothing was checked yet.</p>}
      {ok === true && (
        <p className="op-note good">The book is right: no check found a difference.</p>
      )}
      {wrong.map((check) => (
        <div key={check.part} className="op-note danger">
          <p>
            {PART_WORDS[check.part] ?? check.part}: {formatCount(check.differences)} differences.
          </p>
          {check.found.map((proof) => (
            <p key={proof.name}>
              <code>{proof.name}</code> {proof.first}
            </p>
          ))}
        </div>
      ))}
    </div>
  )
}

type Account = readonly [name: string, credits: string]

const ACCOUNT_COLUMNS: Column<Account>[] = [
  { head: 'Account', cell: ([name]) => <code>{name}</code> },
  {
    head: 'Credits',
    align: 'end',
    cell: ([name, credits]) => (
      <span className={name === SUM ? 'settled' : ''}>
        <CreditAmount credits={credits} />
      </span>
    ),
  },
]
const SUM = 'sum'

function Accounts({ book: { accounts } }: { book: Book }) {
  if (accounts === null) return null
  const rows: Account[] = [...Object.entries(accounts.totals), [SUM, accounts.sum]]
  return (
    <Section
      title="Clearing accounts"
      note={
        <>
          As the check of <Time at={accounts.as_of} /> added them up.
        </>
      }
    >
      <DataTable
        label="Clearing accounts"
        columns={ACCOUNT_COLUMNS}
        list={fixedList(rows)}
        rowKey={accountName}
        empty={<p className="soft">Nothing was booked yet.</p>}
      />
    </Section>
  )
}

function accountName([name]: Account): string {
  return name
}

const CHECK_COLUMNS: Column<Check>[] = [
  { head: 'Part', cell: ({ part }) => PART_WORDS[part] ?? part },
  {
    head: 'Outcome',
    cell: ({ ok, differences }) =>
      ok ? (
        <Badge tone="good">Right</Badge>
      ) : (
        <Badge tone="danger">{formatCount(differences)} differences</Badge>
      ),
  },
  { head: 'When', cell: ({ checked_at }) => <Time at={checked_at} as="distance" /> },
  { head: 'Lines', align: 'end', wide_only: true, cell: ({ checked }) => formatCount(checked) },
  {
    head: 'Took',
    align: 'end',
    wide_only: true,
    cell: ({ duration_ms }) => formatMilliseconds(duration_ms),
  },
]

const PART_WORDS: Record<string, string> = {
  all: 'The whole book since its last seal',
  book: 'What spans the parts',
}

function partOf({ part }: Check): string {
  return part
}

const SEAL_COLUMNS: Column<Seal>[] = [
  { head: 'Month', cell: ({ month }) => month },
  { head: 'Sealed', cell: ({ sealed_at }) => <Time at={sealed_at} /> },
  {
    head: 'Archived',
    wide_only: true,
    cell: ({ archived_at }) =>
      archived_at === null ? <span className="soft">No</span> : <Time at={archived_at} />,
  },
  {
    head: 'Digest',
    wide_only: true,
    cell: ({ digest }) => <code className="op-id">{digest}</code>,
  },
]

function monthOf({ month }: Seal): string {
  return month
}
