// What a page throws while it renders, or code that cannot be loaded, is said in its place; the frame stays usable.

import { Component, type ReactNode } from 'react'
import { ProblemNotice } from '../ui/notice.tsx'
import { toast } from '../ui/toast.tsx'

export class ErrorBoundary extends Component<{ children: ReactNode }, { error?: unknown }> {
  override state: { error?: unknown } = {}

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <>
        <h1>This page did not work</h1>
        <ProblemNotice problem={this.state.error} onRetry={() => void reloadIfAnswered()} />
      </>
    )
  }
}

/** A reload while nobody answers would trade this page for one of the browser's, from which no button leads back. */
async function reloadIfAnswered(): Promise<void> {
  const answer = await fetch('/health').catch(() => undefined)
  if (answer) location.reload()
  else toast('The service still does not answer.')
}
