// Whether an app works, in a word.

import { Badge } from '../ui/figures.tsx'
import type { App } from './apps.ts'

export function AppState({ app }: { app: App }) {
  if (app.suspended_at !== null) return <Badge tone="danger">Suspended</Badge>
  if (app.previous_secret_expires_at !== null) return <Badge tone="warn">Two secrets</Badge>
  return <Badge tone="good">Live</Badge>
}
