// /apps/:id: one app. Tabs and dialogs are addresses: ?tab=users, ?rotate=true, ?delete=true.

import { Link, useParams } from 'wouter'
import { type Act, ActMenu } from '../../ui/act-menu.tsx'
import { Time } from '../../ui/figures.tsx'
import { Sign } from '../../ui/icons.tsx'
import { ProblemNotice, Skeleton } from '../../ui/notice.tsx'
import { PageHead, usePageTitle } from '../../ui/page-head.tsx'
import { UrlTabs } from '../../ui/tabs.tsx'
import { flag, text, useUrlState } from '../../url-state.ts'
import '../apps.css'
import { AppState } from '../app-state.tsx'
import { type AppWithUsers, KINDS, useApp } from '../apps.ts'
import { DeleteApp, RotateSecret } from './acts.tsx'
import { ConnectTab } from './connect-tab.tsx'
import { SettingsTab } from './settings-tab.tsx'
import { UsersTab } from './users-tab.tsx'

const VIEW = { rotate: flag(), delete: flag(), tab: text() }
const CLOSED = { rotate: false, delete: false }

export default function AppPage() {
  const { id = '' } = useParams()
  const { data: app, error, refetch } = useApp(id)
  const [view, setView] = useUrlState(VIEW)
  usePageTitle(app?.name)
  const close = () => setView(CLOSED, { replace: true })
  if (!app) {
    return (
      <>
        <PageHead title="App" />
        {error ? <ProblemNotice problem={error} onRetry={() => void refetch()} /> : <Skeleton />}
      </>
    )
  }
  return (
    <>
      <p className="crumbs">
        <Link to="/apps">Apps</Link>
      </p>
      <PageHead title={app.name} lead={<AppLead app={app} />}>
        <AppMenu app={app} onOpen={(name) => setView({ [name]: true })} />
      </PageHead>
      {app.suspended_at !== null && <Suspension app={app} />}
      <UrlTabs
        label={app.name}
        tabs={[
          { id: 'settings', label: 'Settings', content: <SettingsTab key={app.id} app={app} /> },
          {
            id: 'users',
            label: 'Users',
            content: <UsersTab app_id={app.id} onConnect={() => setView({ tab: 'connect' })} />,
          },
          { id: 'connect', label: 'Connect your users', content: <ConnectTab app={app} /> },
        ]}
      />
      {view.rotate && app.client_type === 'web_server' && (
        <RotateSecret app={app} onClose={close} />
      )}
      {view.delete && <DeleteApp app={app} onClose={close} />}
    </>
  )
}

function AppLead({ app }: { app: AppWithUsers }) {
  const users = app.connected_users
  return (
    <>
      <AppState app={app} /> {KINDS[app.client_type]}
      {' · '}
      {users === 1 ? '1 connected user' : `${users} connected users`}
      {app.previous_secret_expires_at !== null && (
        <>
          {' · '}old secret good until <Time at={app.previous_secret_expires_at} />
        </>
      )}
    </>
  )
}

function Suspension({ app }: { app: AppWithUsers }) {
  return (
    <div className="problem app-notice">
      <Sign name="alert" />
      <div>
        <p>
          The operator of this service has suspended the app
          {app.suspended_at !== null && (
            <>
              {' '}
              on <Time at={app.suspended_at} as="day" />
            </>
          )}
          . Calls with its tokens, links and keys are refused.
        </p>
        {app.suspended_reason !== null && <p>Reason: {app.suspended_reason}</p>}
      </div>
    </div>
  )
}

function AppMenu(props: { app: AppWithUsers; onOpen: (name: 'rotate' | 'delete') => void }) {
  const replace: Act = ['Replace the secret', () => props.onOpen('rotate')]
  return (
    <ActMenu
      label={`Change ${props.app.name}`}
      acts={[
        ...(props.app.client_type === 'web_server' ? [replace] : []),
        ['Delete', () => props.onOpen('delete')],
      ]}
    />
  )
}
