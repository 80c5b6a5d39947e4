// A word about what was done, in a polite region. Never the only place of a message: what failed is said where it failed.

import { useSyncExternalStore } from 'react'

type Toast = { readonly id: number; readonly text: string }

const SHOWN_MS = 5_000
const SHOWN_MAX = 3

let toasts: readonly Toast[] = []
let count = 0
const listeners = new Set<() => void>()

export function toast(text: string): void {
  const id = ++count
  set([...toasts, { id, text }].slice(-SHOWN_MAX))
  setTimeout(() => set(toasts.filter((shown) => shown.id !== id)), SHOWN_MS)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <p key={id} className="toast">
          {text}
        </p>
      ))}
    </div>
  )
}

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
