// The top bar: menu on a phone, search, the mode, the balance, the account.

import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask } from '../api.ts'
import { formatCredits, formatDollars } from '../format.ts'
import { useAccount } from '../queries.ts'
import { isSandbox, readTheme, setTheme, THEMES } from '../settings.ts'
import { IconButton } from '../ui/button.tsx'
import { Badge } from '../ui/figures.tsx'
import { Sign } from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'
import { toast } from '../ui/toast.tsx'

const THEME_WORDS = { system: 'As the system', light: 'Light', dark: 'Dark' }
const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent)

export function TopBar({ onMenu, onSearch }: { onMenu: () => void; onSearch: () => void }) {
  return (
    <header className="top-bar">
      <span className="phone-only">
        <IconButton sign="menu" label="Menu" onClick={onMenu} />
      </span>
      <button type="button" className="search-button" onClick={onSearch}>
        <Sign name="search" />
        <span className="search-words">Search or jump to an id</span>
        <kbd>{IS_APPLE ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <div className="row top-bar-end">
        {isSandbox() && <Badge tone="warn">sandbox</Badge>}
        <BalancePill />
        <AccountMenu />
      </div>
    </header>
  )
}

function BalancePill() {
  const { data } = useAccount()
  if (!data) return <span className="pill">…</span>
  const available = data.available ?? data.balance
  const is_low = available <= (data.low_balance_credits ?? 0)
  return (
    <Link
      to="/wallet"
      className={is_low ? 'pill low' : 'pill'}
      title={`${formatCredits(available)} credits available`}
    >
      <span className="unseen">{is_low ? 'Low balance: ' : 'Balance: '}</span>
      {formatDollars(available)}
    </Link>
  )
}

function AccountMenu() {
  const { data } = useAccount()
  return (
    <Menu label="Account" face={<Sign name="account" />}>
      {(close) => (
        <>
          <p className="menu-note">{data?.email}</p>
          <ul>
            <MenuLink to="/account" label="Account" close={close} />
            <MenuLink to="/account/sessions" label="Sessions" close={close} />
            <MenuLink to="/account/second-factor" label="Second factor" close={close} />
          </ul>
          <ThemeChoice />
          <ul>
            <li>
              <button type="button" onClick={() => void signOut()}>
                Sign out
              </button>
            </li>
          </ul>
        </>
      )}
    </Menu>
  )
}

function MenuLink({ to, label, close }: { to: string; label: string; close: () => void }) {
  return (
    <li>
      <Link to={to} onClick={close}>
        {label}
      </Link>
    </li>
  )
}

function ThemeChoice() {
  const [chosen, setChosen] = useState(readTheme)
  return (
    <fieldset className="theme-choice">
      <legend>Theme</legend>
      {THEMES.map((theme) => (
        <label key={theme}>
          <input
            type="radio"
            name="theme"
            checked={theme === chosen}
            onChange={() => {
              setTheme(theme)
              setChosen(theme)
            }}
          />
          {THEME_WORDS[theme]}
        </label>
      ))}
    </fieldset>
  )
}

async function signOut(): Promise<void> {
  try {
    await ask(() => api.POST('/auth/logout'))
    location.assign('/oauth/login?return_to=%2Fconsole%2F')
  } catch {
    toast('You are still signed in: the service does not answer.')
  }
}
