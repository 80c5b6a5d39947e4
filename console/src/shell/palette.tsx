// The command palette (⌘K, Ctrl K): pages and acts by name, and things by the id that somebody has in the clipboard.

import { type KeyboardEvent, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { useAccount } from '../queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { findTargets, type Target } from './palette-targets.ts'

export type PaletteProps = { onClose: () => void; onShortcuts: () => void }

export default function Palette({ onClose, onShortcuts }: PaletteProps) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const [, navigate] = useLocation()
  const account = useAccount()
  const list_id = useId()
  const targets = findTargets(query, {
    is_operator: account.data?.is_operator === true,
    onShortcuts,
  })
  const follow = (target: Target | undefined) => {
    if (!target) return
    onClose()
    if ('run' in target) target.run()
    else if (target.to.startsWith('/docs')) location.assign(target.to)
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
        aria-label="Page, act or id"
        aria-expanded="true"
        aria-controls={list_id}
        aria-activedescendant={targets[at] && `${list_id}-${at}`}
        placeholder="A page, something to do, or an id"
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
      {targets.length === 0 && <p className="soft">{describeNothing(query)}</p>}
    </Dialog>
  )
}

/** Somebody who pastes a secret here has it in the clipboard by mistake, as like as not. */
function describeNothing(query: string): string {
  return /^\s*(?:sk-svc-|svc_secret_|svc_token_|svc_refresh_|sess_|whsec_)/.test(query)
    ? 'This is a secret. It is searched for nowhere, and nobody should see it: replace it if it was shown.'
    : 'Nothing has that name or id.'
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
          key={`${target.label} ${target.note}`}
          id={`${props.id}-${index}`}
          role="option"
          aria-selected={index === props.at}
          onMouseEnter={() => props.setAt(index)}
          onMouseDown={(event) => {
            event.preventDefault()
            props.follow(target)
          }}
        >
          {target.label} <span className="soft">{target.note}</span>
        </li>
      ))}
    </ul>
  )
}
