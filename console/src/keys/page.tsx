// /keys: the API keys of the account. Each dialog is an address: ?create=true, ?edit=, ?rotate= and ?revoke= with an id.

import { type ReactNode, useMemo } from 'react'
import { sampleCalls } from '../sample-call.ts'
import { ActMenu, actsColumn } from '../ui/act-menu.tsx'
import { Button } from '../ui/button.tsx'
import { Badge, LimitMeter, Money, Time } from '../ui/figures.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { flag, text, useUrlState } from '../url-state.ts'
import './keys.css'
import { EditKey, RevokeKey, RotateKey } from './change-key.tsx'
import { CreateKey } from './create-key.tsx'
import { type Key, useApps, useKeys } from './keys.ts'

const VIEW = { create: flag(), edit: text(), rotate: text(), revoke: text() }
const CLOSED = { create: false, edit: '', rotate: '', revoke: '' }
const PERIOD_WORDS = { day: 'a day', month: 'a month', total: 'in total' }

type View = 'edit' | 'rotate' | 'revoke'

export default function KeysPage() {
  const [view, setView] = useUrlState(VIEW)
  const keys = useKeys()
  const rows = keys.pages?.flat() ?? []
  const apps = useApps({ enabled: view.create || rows.some((key) => key.client_id !== null) })
  const columns = useMemo(
    () => columnsOf(new Map(apps.pages?.flat().map((app) => [app.client_id, app.name]))),
    [apps.pages],
  )
  const all_columns = useMemo(
    () => [...columns, keyActs((name, id) => setView({ [name]: id }))],
    [columns, setView],
  )
  const close = () => setView(CLOSED, { replace: true })
  const find = (id: string) => rows.find((key) => key.id === id)
  const [edited, rotated, revoked] = [find(view.edit), find(view.rotate), find(view.revoke)]
  const create = (
    <Button kind="primary" sign="plus" onClick={() => setView({ create: true })}>
      Create a key
    </Button>
  )
  return (
    <>
      <PageHead
        title="API keys"
        lead="Programs show a key with each call. What they spend is billed to you, or to your users."
      >
        {rows.length > 0 && create}
      </PageHead>
      <DataTable
        label="API keys"
        columns={all_columns}
        list={keys}
        rowKey={keyId}
        empty={<NoKeys action={create} />}
      />
      {view.create && <CreateKey apps={apps.pages?.flat() ?? []} onClose={close} />}
      {edited && <EditKey row={edited} onClose={close} />}
      {rotated && <RotateKey row={rotated} onClose={close} />}
      {revoked && <RevokeKey row={revoked} onClose={close} />}
    </>
  )
}

function keyId(key: Key): string {
  return key.id
}

function NoKeys({ action }: { action: ReactNode }) {
  return (
    <EmptyState title="Create your first key" action={action}>
      <p>It makes calls like this one, with any OpenAI or Anthropic client:</p>
      <CodeSnippet label="A first call" samples={sampleCalls()} />
    </EmptyState>
  )
}

function columnsOf(app_names: ReadonlyMap<string, string>): Column<Key>[] {
  return [
    {
      head: 'Name',
      cell: (key) => (
        <>
          <strong className="cell-title">{key.name}</strong>
          <code className="key-prefix">{key.prefix}…</code>
        </>
      ),
    },
    {
      head: 'Who pays',
      wide_only: true,
      cell: ({ billing_mode }) => (billing_mode === 'user' ? 'Your users' : 'You'),
    },
    { head: 'Spend limit', cell: (key) => <Spent row={key} /> },
    {
      head: 'Last used',
      wide_only: true,
      cell: ({ last_used_at }) =>
        last_used_at === null ? (
          <span className="soft">Never</span>
        ) : (
          <Time at={last_used_at} as="distance" />
        ),
    },
    { head: 'Expires', wide_only: true, cell: (key) => <Expiry row={key} /> },
    {
      head: 'App',
      wide_only: true,
      cell: ({ client_id }) =>
        client_id === null ? (
          <span className="soft">Any</span>
        ) : (
          (app_names.get(client_id) ?? <code>{client_id}</code>)
        ),
    },
  ]
}

function Spent({ row }: { row: Key }) {
  const {
    spend_limit_credits: limit,
    spend_limit_period: period,
    spent_period_credits: spent,
  } = row
  if (limit === null || period === null) return <span className="soft">No limit</span>
  return (
    <span className="spent">
      <span>
        <Money credits={spent ?? 0} /> of <Money credits={limit} /> {PERIOD_WORDS[period]}
      </span>
      <LimitMeter used={spent ?? 0} limit={limit} label={`Spent by ${row.name}`} />
    </span>
  )
}

function Expiry({ row: { expires_at, previous_secret_until } }: { row: Key }) {
  return (
    <>
      {expires_at === null && <span className="soft">Never</span>}
      {expires_at !== null &&
        (Date.parse(expires_at) < Date.now() ? (
          <Badge tone="danger">Expired</Badge>
        ) : (
          <Time at={expires_at} as="day" />
        ))}
      {previous_secret_until !== null && (
        <span className="soft cell-note">
          Old secret until <Time at={previous_secret_until} />
        </span>
      )}
    </>
  )
}

function keyActs(open: (view: View, id: string) => void): Column<Key> {
  return actsColumn(({ name, id }) => (
    <ActMenu
      label={`Change ${name}`}
      acts={[
        ['Edit', () => open('edit', id)],
        ['Replace the secret', () => open('rotate', id)],
        ['Revoke', () => open('revoke', id)],
      ]}
    />
  ))
}
