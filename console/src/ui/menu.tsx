// A button that opens a short list of acts, on the browser's own popover: it closes on Escape and on a press elsewhere.

import { type ReactNode, useId, useRef } from 'react'

const GAP_PX = 4
const EDGE_PX = 8

export type MenuProps = {
  /** The name of the button, for those who hear the page. */
  label: string
  /** What the button shows. */
  face: ReactNode
  className?: string
  /** Buttons and links. `close` gives the focus back to the button, so that a dialog that opens next returns there. */
  children: (close: () => void) => ReactNode
}

export function Menu({ label, face, className = 'icon-button', children }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const close = () => {
    list.current?.hidePopover()
    button.current?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        title={label}
        popoverTarget={id}
      >
        {face}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className="menu"
        onToggle={(event) => event.newState === 'open' && place(button.current, list.current)}
      >
        {children(close)}
      </div>
    </>
  )
}

/** Below the button, or above it where there is no room; within the window. */
function place(button: HTMLElement | null, list: HTMLElement | null): void {
  if (!button || !list) return
  const from = button.getBoundingClientRect()
  const { width, height } = list.getBoundingClientRect()
  const below = from.bottom + GAP_PX
  const fits = below + height <= innerHeight - EDGE_PX
  list.style.top = `${fits ? below : Math.max(EDGE_PX, from.top - height - GAP_PX)}px`
  list.style.left = `${Math.max(EDGE_PX, Math.min(from.right - width, innerWidth - width - EDGE_PX))}px`
}
