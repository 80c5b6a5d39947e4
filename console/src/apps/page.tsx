// /apps: the apps of the account. The dialog is an address: ?create=true. ?client_id= leads to the page of that app.

import type { ReactNode } from 'react'
import { Link, Redirect } from 'wouter'
import { Button } from '../ui/button.tsx'
import { Time } from '../ui/figures.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { flag, text, useUrlState } from '../url-state.ts'
import './apps.css'
import { AppState } from './app-state.tsx'
import { type App, useApps } from './apps.ts'
import { CreateApp } from './create-app.tsx'

const VIEW = { create: flag(), client_id: text() }
const SCOPE_WORDS = { 'credits.read': 'balance', 'credits.spend': 'spend' }

export default function AppsPage() {
  const [view, setView] = useUrlState(VIEW)
  const apps = useApps()
  const rows = apps.pages?.flat() ?? []
  const wanted = rows.find((app) => app.client_id === view.client_id)
  if (wanted) return <Redirect to={`/apps/${wanted.id}`} replace />
  const create = (
    <Button kind="primary" sign="plus" onClick={() => setView({ create: true })}>
      Create an app
    </Button>
  )
  return (
    <>
      <PageHead
        title="Apps"
        lead="Your users sign in and pay for your calls with their own credits. You earn the markup."
      >
        {rows.length > 0 && create}
      </PageHead>
      <DataTable
        label="Apps"
        columns={COLUMNS}
        list={apps}
        rowKey={appId}
        empty={<NoApps action={create} />}
      />
      {view.create && <CreateApp onClose={() => setView({ create: false }, { replace: true })} />}
    </>
  )
}

function appId(app: App): string {
  return app.id
}

function NoApps({ action }: { action: ReactNode }) {
  return (
    <EmptyState title="Let your users pay for their own calls" action={action}>
      <ol className="steps">
        <li>Create an app: a name, the address users return to, and your markup.</li>
        <li>Send users to the consent page. They see your markup and set a cap.</li>
        <li>Call with their token, or with your key and your own name for them.</li>
      </ol>
      <p>
        At a markup of 20 %, a call that costs $0.10 is $0.12 for the user, and $0.02 are yours.
      </p>
    </EmptyState>
  )
}

const COLUMNS: readonly Column<App>[] = [
  {
    head: 'Name',
    cell: (app) => (
      <>
        <Link className="cell-title" to={`/apps/${app.id}`}>
          {app.name}
        </Link>
        <code className="app-client-id">{app.client_id}</code>
      </>
    ),
  },
  { head: 'Markup', align: 'end', cell: ({ markup_percent }) => `${markup_percent}\u00a0%` },
  {
    head: 'May ask to',
    wide_only: true,
    cell: ({ allowed_scopes }) => allowed_scopes.map((scope) => SCOPE_WORDS[scope]).join(', '),
  },
  { head: 'State', cell: (app) => <AppState app={app} /> },
  { head: 'Created', wide_only: true, cell: (app) => <Time at={app.created_at} as="day" /> },
]
