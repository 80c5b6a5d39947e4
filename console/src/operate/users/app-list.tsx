// Every app, by client id, developer or how its name begins; and suspending one.

import { useMemo } from 'react'
import { Link } from 'wouter'
import { Button } from '../../ui/button.tsx'
import { Badge, Time } from '../../ui/figures.tsx'
import { TextField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { AppAct } from '../app-act.tsx'
import { FilterBar, readField } from '../parts.tsx'
import { type App, useOperatorApps } from './users.ts'

const VIEW = { query: text(), app: text() }

export function AppList() {
  const [{ query, app }, setView] = useUrlState(VIEW)
  const apps = useOperatorApps(query)
  const columns = useMemo(
    () => [...appColumns(), actColumn((client_id) => setView({ app: client_id }))],
    [setView],
  )
  const opened = apps.pages?.flat().find(({ client_id }) => client_id === app)
  const clear = () => setView({ query: '' })
  return (
    <>
      <FilterBar
        key={query}
        label="Apps"
        action="Search"
        onApply={(values) => setView({ query: readField(values, 'query') })}
        onClear={query === '' ? undefined : clear}
      >
        <TextField
          name="query"
          label="How the name begins, client id, or id of the developer"
          defaultValue={query}
          maxLength={200}
          spellCheck={false}
        />
      </FilterBar>
      <DataTable
        label="Apps"
        columns={columns}
        list={apps}
        rowKey={clientId}
        empty={
          query === '' ? (
            <EmptyState title="No app yet">
              <p>Apps that developers register appear here.</p>
            </EmptyState>
          ) : (
            <EmptyState
              title="No app is found"
              action={<Button onClick={clear}>Show all apps</Button>}
            >
              <p>No name begins with “{query}”, and it is no client id or id of a developer.</p>
            </EmptyState>
          )
        }
      />
      {opened && <AppAct app={opened} onClose={() => setView({ app: '' }, { replace: true })} />}
    </>
  )
}

function clientId({ client_id }: App): string {
  return client_id
}

function appColumns(): Column<App>[] {
  return [
    NAME_COLUMN,
    {
      head: 'Developer',
      wide_only: true,
      cell: ({ developer_id, developer_email }) => (
        <Link to={`/operate/users/${developer_id}`} className="op-id">
          {developer_email}
        </Link>
      ),
    },
    MARKUP_COLUMN,
    STATE_COLUMN,
  ]
}

export const NAME_COLUMN: Column<App> = {
  head: 'App',
  cell: ({ name, client_id }) => (
    <>
      <strong className="cell-title">{name}</strong>
      <span className="soft cell-note">{client_id}</span>
    </>
  ),
}

export const MARKUP_COLUMN: Column<App> = {
  head: 'Markup',
  align: 'end',
  wide_only: true,
  cell: ({ markup_percent }) => `${markup_percent} %`,
}

export const STATE_COLUMN: Column<App> = {
  head: 'State',
  cell: ({ suspended_at, suspended_reason }) =>
    suspended_at === null ? (
      <Badge tone="good">Active</Badge>
    ) : (
      <>
        <Badge tone="danger">Suspended</Badge>
        <span className="soft cell-note">
          <Time at={suspended_at} as="distance" />
          {suspended_reason !== null && `: ${suspended_reason}`}
        </span>
      </>
    ),
}

export function actColumn(open: (client_id: string) => void): Column<App> {
  return {
    head: 'Acts',
    head_unseen: true,
    align: 'end',
    cell: ({ name, client_id, suspended_at }) => {
      const word = suspended_at === null ? 'Suspend' : 'Resume'
      return (
        <Button aria-label={`${word} ${name}`} onClick={() => open(client_id)}>
          {word}
        </Button>
      )
    },
  }
}
