// What a page throws while it renders, or code that cannot be loaded, is said in its place; the frame stays usable.

import { Component, type ReactNode } from 'react'
import { ProblemNotice } from '../ui/notice.tsx'

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
        <ProblemNotice problem={this.state.error} onRetry={() => location.reload()} />
      </>
    )
  }
}
