// A modal dialog on the browser's own <dialog>: it traps the focus, closes on Escape and gives the focus back. On a
// phone it is a sheet at the bottom. For forms and secrets; details belong into a side panel (panel.tsx).

import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { Button, IconButton } from './button.tsx'

export type DialogProps = {
  title: string
  onClose: () => void
  children: ReactNode
  /** Why it must not be closed by mistake. It can still be closed: a guard is a question, not a trap. */
  guard?: string | undefined
  kind?: 'modal' | 'sheet'
}

export function Dialog({ title, onClose, children, guard, kind = 'modal' }: DialogProps) {
  const dialog = useModal()
  const title_id = useId()
  const [is_warned, setWarned] = useState(false)
  useUnloadGuard(guard !== undefined)
  const close = () => (guard === undefined ? onClose() : setWarned(true))
  return (
    // The keyboard closes it by Escape; a press beside it is for the mouse only.
    <dialog
      ref={dialog}
      className={`dialog ${kind}`}
      aria-labelledby={title_id}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClose={(event) => event.target === event.currentTarget && onClose()}
      onMouseDown={(event) => event.target === event.currentTarget && close()}
    >
      <div className="dialog-box">
        <header className="dialog-head">
          <h2 id={title_id}>{title}</h2>
          <IconButton sign="close" label="Close" onClick={close} />
        </header>
        {guard !== undefined && is_warned && (
          <div className="problem" role="alert">
            <p>{guard}</p>
            <Button onClick={() => setWarned(false)}>Keep it open</Button>
            <Button kind="danger" onClick={onClose}>
              Close anyway
            </Button>
          </div>
        )}
        <div className="dialog-body">{children}</div>
      </div>
    </dialog>
  )
}

/** The buttons at the end of a dialog's form. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>
}

function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the paint, and before the element goes: only then does the browser give the focus back.
  useLayoutEffect(() => {
    const opener = document.activeElement
    const shown = dialog.current
    shown?.showModal()
    // The browser would begin at the button that closes it.
    shown
      ?.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea, button, a)')
      ?.focus()
    return () => {
      shown?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return dialog
}

function useUnloadGuard(is_guarded: boolean): void {
  useEffect(() => {
    if (!is_guarded) return undefined
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [is_guarded])
}
