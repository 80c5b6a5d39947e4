// The command palette (⌘K, Ctrl K): pages by name, and things by the id that somebody has in the clipboard.

import { type KeyboardEvent, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { useAccount } from '../queries.ts'
import { ROUTES } from '../routes.ts'
import { Dialog } from '../ui/dialog.tsx'

type Target = { label: string; note: string; to: string }

const SHOWN_MAX = 8
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

export default function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const [, navigate] = useLocation()
  const account = useAccount()
  const list_id = useId()
  const targets = findTargets(query, account.data?.is_operator === true)
  const follow = (target: Target | undefined) => {
    if (!target) return
    onClose()
    if (target.to.startsWith('/docs')) location.assign(target.to)
    else navigate(target.to)
  }
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((at + step + targets.length) % Math.max(targets.length, 1))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      follow(targets[at])
    }
  }
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        type="search"
        className="palette-input"
        role="combobox"
        aria-label="Page or id"
        aria-expanded="true"
        aria-controls={list_id}
        aria-activedescendant={targets[at] && `${list_id}-${at}`}
        placeholder="A page, or an id such as wh_…"
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setAt(0)
        }}
        onKeyDown={walk}
      />
      <Results id={list_id} {...{ targets, at, setAt, follow }} />
      {targets.length === 0 && <p className="soft">Nothing has that name or id.</p>}
    </Dialog>
  )
}

function Results(props: {
  id: string
  targets: readonly Target[]
  at: number
  setAt: (at: number) => void
  follow: (target: Target) => void
}) {
  return (
    <ul id={props.id} className="palette" role="listbox" aria-label="Results">
      {props.targets.map((target, index) => (
        <li
          key={target.to}
          id={`${props.id}-${index}`}
          role="option"
          aria-selected={index === props.at}
          onMouseEnter={() => props.setAt(index)}
          onMouseDown={() => props.follow(target)}
        >
          {target.label} <span className="soft">{target.note}</span>
        </li>
      ))}
    </ul>
  )
}

function findTargets(query: string, is_operator: boolean): Target[] {
  const wanted = query.trim()
  const by_id = targetsOfId(wanted, is_operator)
  if (by_id.length > 0) return by_id
  return ROUTES.filter((route) => !route.path.includes(':'))
    .filter((route) => route.seen_by === 'everybody' || is_operator)
    .map((route): Target => ({ label: route.title, note: route.group, to: route.path }))
    .concat({ label: 'API reference', note: 'docs', to: '/docs' })
    .concat({ label: 'Error codes', note: 'docs', to: '/docs/errors' })
    .filter(({ label, to }) => `${label} ${to}`.toLowerCase().includes(wanted.toLowerCase()))
    .slice(0, SHOWN_MAX)
}

/** Ids with a prefix say what they name. A bare UUID may be a call, a key, an app or a person. */
function targetsOfId(id: string, is_operator: boolean): Target[] {
  const named = encodeURIComponent(id)
  if (/^wh_\w+$/.test(id)) return [{ label: 'Webhook', note: id, to: `/webhooks/${named}` }]
  if (/^evt_\w+$/.test(id)) return [{ label: 'Event', note: id, to: `/webhooks?event=${named}` }]
  if (/^svc_client_\w+$/.test(id)) {
    return [
      { label: 'Usage of the app', note: id, to: `/usage?client_id=${named}` },
      { label: 'Apps', note: id, to: `/apps?client_id=${named}` },
    ]
  }
  if (!UUID.test(id)) return []
  return [
    { label: 'Receipt of the call', note: id, to: `/usage?call=${named}` },
    { label: 'Usage of the key', note: id, to: `/usage?key_id=${named}` },
    { label: 'App', note: id, to: `/apps/${named}` },
    ...(is_operator ? [{ label: 'User', note: id, to: `/operate/users/${named}` }] : []),
  ]
}
