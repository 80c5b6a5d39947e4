// A side panel for the details of a row. Not modal: the list beside it stays usable, and opening it over 1,000 rows
// restyles nothing.

import { type ReactNode, useEffect, useId, useRef } from 'react'
import { IconButton } from './button.tsx'

export function SidePanel(props: { title: string; onClose: () => void; children: ReactNode }) {
  const title_id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const opener = document.activeElement
    heading.current?.focus()
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return (
    <aside
      className="panel"
      aria-labelledby={title_id}
      onKeyDown={(event) => event.key === 'Escape' && props.onClose()}
    >
      <header className="dialog-head">
        <h2 id={title_id} ref={heading} tabIndex={-1}>
          {props.title}
        </h2>
        <IconButton sign="close" label="Close" onClick={props.onClose} />
      </header>
      <div className="dialog-body">{props.children}</div>
    </aside>
  )
}
