// Before anything is earned: what one call would bring, with one's own markup.

import { formatCount } from '../format.ts'
import { LinkButton } from '../ui/button.tsx'
import { EmptyState } from '../ui/notice.tsx'
import type { App } from './earnings.ts'

const EXAMPLE_COST = 1_000
const EXAMPLE_MARKUP_PERCENT = 20

export function NoEarnings({ apps }: { apps: readonly App[] }) {
  const [app] = apps.toSorted((one, other) => other.markup_percent - one.markup_percent)
  const percent = app && app.markup_percent > 0 ? app.markup_percent : EXAMPLE_MARKUP_PERCENT
  const earned = Math.floor((EXAMPLE_COST * percent) / 100)
  return (
    <EmptyState
      title={app ? 'Nothing earned yet' : 'Earn with an app'}
      action={<NextAct app={app} />}
    >
      <p>
        Users of your app pay each call with their own credits, and you earn the markup. A call that
        costs {formatCount(EXAMPLE_COST)} credits:
      </p>
      <table className="sum">
        <caption className="unseen">What a call brings</caption>
        <tbody>
          <tr>
            <th scope="row">the call</th>
            <td className="end">{formatCount(EXAMPLE_COST)}</td>
          </tr>
          <tr>
            <th scope="row">
              {app && app.markup_percent > 0
                ? `your markup, ${percent} % in ${app.name}`
                : `your markup, if it were ${percent} %`}
            </th>
            <td className="end">{formatCount(earned)}</td>
          </tr>
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">your user pays</th>
            <td className="end">
              <strong className="settled">{formatCount(EXAMPLE_COST + earned)}</strong>
            </td>
          </tr>
        </tfoot>
      </table>
    </EmptyState>
  )
}

function NextAct({ app }: { app: App | undefined }) {
  if (!app) {
    return (
      <LinkButton to="/apps?create=true" kind="primary">
        Register an app
      </LinkButton>
    )
  }
  return (
    <LinkButton to={`/apps/${app.id}`} kind={app.markup_percent > 0 ? 'plain' : 'primary'}>
      {app.markup_percent > 0 ? 'Connect users to your app' : `Set a markup for ${app.name}`}
    </LinkButton>
  )
}
