// The left bar, and the same list in the menu of a phone.

import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { warmPage } from '../pages.tsx'
import { useAccount } from '../queries.ts'
import { type Group, type IconName, type PageRoute, ROUTES } from '../routes.ts'
import { PageIcon } from '../ui/icons.tsx'
import { usePaysOnly } from './landing.ts'

const HEADINGS: readonly (readonly [Group, string])[] = [
  ['build', 'Build'],
  ['wallet', 'Wallet'],
  ['operate', 'Operate'],
]

/** For those who pay and build nothing yet. */
const WALLET_FIRST = HEADINGS.toSorted(
  ([one], [other]) => Number(other === 'wallet') - Number(one === 'wallet'),
)

type ListedRoute = PageRoute & { icon: IconName }

type NavigationProps = { label: string; onFollow?: () => void; children?: ReactNode }

export function Navigation({ label, onFollow, children }: NavigationProps) {
  const account = useAccount()
  const is_operator = account.data?.is_operator === true
  const headings = usePaysOnly() ? WALLET_FIRST : HEADINGS
  return (
    <nav className="navigation" aria-label={label}>
      {children}
      {headings
        .filter(([group]) => group !== 'operate' || is_operator)
        .map(([group, heading]) => (
          <section key={group}>
            <h2>{heading}</h2>
            <ul>
              {routesOf(group).map((route) => (
                <NavigationItem key={route.path} route={route} onFollow={onFollow} />
              ))}
              {group === 'build' && (
                <li>
                  <a href="/docs">
                    <PageIcon name="docs" /> Docs
                  </a>
                </li>
              )}
            </ul>
          </section>
        ))}
    </nav>
  )
}

function NavigationItem({
  route,
  onFollow,
}: {
  route: ListedRoute
  onFollow: (() => void) | undefined
}) {
  const [path] = useLocation()
  const is_current =
    path === route.path || (route.path !== '/' && path.startsWith(`${route.path}/`))
  const warm = () => warmPage(route)
  return (
    <li>
      <Link
        to={route.path}
        aria-current={is_current ? 'page' : undefined}
        onClick={onFollow}
        onMouseEnter={warm}
        onFocus={warm}
      >
        <PageIcon name={route.icon} /> {route.title}
      </Link>
    </li>
  )
}

function routesOf(group: Group): ListedRoute[] {
  return ROUTES.filter(
    (route): route is ListedRoute => route.group === group && route.icon !== undefined,
  )
}
