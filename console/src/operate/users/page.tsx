// /operate/users: finding people and apps. ?query= searches, ?tab=apps lists apps, ?app= opens the dialog of one.

import { Link } from 'wouter'
import { Button } from '../../ui/button.tsx'
import { Money, Time } from '../../ui/figures.tsx'
import { TextField } from '../../ui/form.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'
import { UrlTabs } from '../../ui/tabs.tsx'
import { text, useUrlState } from '../../url-state.ts'
import { FilterBar, readField } from '../parts.tsx'
import { AppList } from './app-list.tsx'
import { UserState } from './user-state.tsx'
import { type User, useUsers } from './users.ts'

const VIEW = { query: text() }

export default function UsersPage() {
  return (
    <>
      <PageHead title="Users" lead="Everybody who has an account, and every app." />
      <UrlTabs
        label="Users and apps"
        tabs={[
          { id: 'users', label: 'Users', content: <UserList /> },
          { id: 'apps', label: 'Apps', content: <AppList /> },
        ]}
      />
    </>
  )
}

function UserList() {
  const [{ query }, setView] = useUrlState(VIEW)
  const users = useUsers(query)
  const clear = () => setView({ query: '' })
  return (
    <>
      <FilterBar
        key={query}
        label="Users"
        action="Search"
        onApply={(values) => setView({ query: readField(values, 'query') })}
        onClear={query === '' ? undefined : clear}
      >
        <TextField
          name="query"
          label="How the address begins, or the whole id"
          defaultValue={query}
          placeholder="ann@"
          maxLength={200}
          spellCheck={false}
        />
      </FilterBar>
      <DataTable
        label="Users"
        columns={COLUMNS}
        list={users}
        rowKey={userId}
        empty={
          <EmptyState
            title="Nobody is found"
            action={query !== '' && <Button onClick={clear}>Show everybody</Button>}
          >
            <p>No address begins with “{query}”, and it is no id of an account.</p>
          </EmptyState>
        }
      />
    </>
  )
}

function userId({ id }: User): string {
  return id
}

const COLUMNS: Column<User>[] = [
  {
    head: 'Address',
    cell: (user) => (
      <>
        <Link to={`/operate/users/${user.id}`} className="op-id">
          {user.email}
        </Link>
        <span className="soft cell-note wide-note">{user.id}</span>
      </>
    ),
  },
  { head: 'State', cell: (user) => <UserState user={user} /> },
  {
    head: 'Since',
    wide_only: true,
    cell: ({ created_at }) => <Time at={created_at} as="day" />,
  },
  {
    head: 'Balance',
    align: 'end',
    cell: ({ balance_credits: credits }) =>
      credits === null ? <span className="soft">–</span> : <Money credits={credits} />,
  },
]
