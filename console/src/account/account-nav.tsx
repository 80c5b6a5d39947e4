// The pages about the account itself, which the left bar does not list.

import { Link, useLocation } from 'wouter'
import { ROUTES } from '../routes.ts'
import './account.css'

const PAGES = ROUTES.filter((route) => route.group === 'account')

export function AccountNav() {
  const [path] = useLocation()
  return (
    <nav className="account-nav" aria-label="Account pages">
      <ul>
        {PAGES.map((route) => (
          <li key={route.path}>
            <Link to={route.path} aria-current={route.path === path ? 'page' : undefined}>
              {route.title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
