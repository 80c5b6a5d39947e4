// What the page around the module lets it do: have an origin, store something, open a window.

import { SvcError } from './replies.ts'

export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export function requirePage(): void {
  if (self.origin === 'null') {
    throw new SvcError(
      'sandboxed',
      'This page is in a sandboxed frame and has no origin. Add allow-same-origin and allow-popups to its sandbox attribute.',
    )
  }
  if (!isSecureContext) throw new SvcError('insecure', 'Signing in needs https, or localhost.')
}

/** In memory where the browser lets the page store nothing. */
export function openStore(remember?: boolean): Store {
  try {
    return remember ? localStorage : sessionStorage
  } catch {
    const kept = new Map<string, string>()
    return {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => void kept.set(name, value),
      removeItem: (name) => void kept.delete(name),
    }
  }
}

/** Null: go there with the whole page. Our pages let nobody frame them, so a frame has no choice. */
export function openPopup(wanted: boolean): Window | null {
  const in_frame = window.top !== window
  if (!wanted && !in_frame) return null
  const opened = open('about:blank', '_blank', 'popup,width=500,height=800')
  if (in_frame && !opened) {
    throw new SvcError('popup_blocked', 'The browser or a sandboxed frame blocked the window.')
  }
  return opened
}
