// Whether a webhook is sent anything, in a word.

import { Badge } from '../ui/figures.tsx'
import type { Webhook } from './webhooks.ts'

export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.switched_off_at !== null) return <Badge tone="danger">Switched off</Badge>
  if (!webhook.active) return <Badge>Paused</Badge>
  if (webhook.previous_secret_until !== null) return <Badge tone="warn">Two secrets</Badge>
  return <Badge tone="good">Active</Badge>
}
