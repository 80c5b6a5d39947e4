// The head of a page: its one h1, a line of explanation, and its acts.

import { type ReactNode, useEffect } from 'react'

export function PageHead({
  title,
  lead,
  children,
}: {
  title: string
  lead?: ReactNode
  children?: ReactNode
}) {
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {lead !== undefined && <p className="soft">{lead}</p>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  )
}

/** For pages about one thing, which know its name only once it is loaded. */
export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · svc`
  }, [title])
}
