// The keys that work everywhere: Ctrl K or ⌘K, and `?` unless somebody has turned it off.

import { useEffect } from 'react'

const OFF_KEY = 'svc_question_mark_off'

/** Both stay the same between renders. */
export function useShortcutKeys(openPalette: () => void, openShortcuts: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault()
        openPalette()
      } else if (event.key === '?' && !isTyping(event) && isQuestionMarkOn()) {
        openShortcuts()
      }
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [openPalette, openShortcuts])
}

export function isQuestionMarkOn(): boolean {
  return localStorage.getItem(OFF_KEY) === null
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select'))
  )
}

export function setQuestionMark(is_on: boolean): void {
  if (is_on) localStorage.removeItem(OFF_KEY)
  else localStorage.setItem(OFF_KEY, 'off')
}
