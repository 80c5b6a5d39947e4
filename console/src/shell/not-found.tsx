// An address that is no page of the console, or none for this account.

import { LinkButton } from '../ui/button.tsx'

export function NotFound() {
  return (
    <div className="empty">
      <h1>There is no such page</h1>
      <p className="empty-text">
        The address may be mistyped, or the page is not for this account.
      </p>
      <LinkButton to="/" kind="primary">
        To the overview
      </LinkButton>
    </div>
  )
}
