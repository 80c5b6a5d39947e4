// The fields that a new webhook and a changed one share.

import { readDollars, writeDollars } from '../format.ts'
import { isSandbox } from '../settings.ts'
import { CheckField } from '../ui/check-field.tsx'
import { TextField, wrongField } from '../ui/form.tsx'
import { EVENT_NAMES, EVENT_SENTENCES } from './event-catalogue.ts'
import type { EventName, Webhook } from './webhooks.ts'

export type WebhookDraft = {
  url: string
  events: readonly string[]
  /** Dollars. */
  threshold: string
}

const EVENT_CHECKS = EVENT_NAMES.map((name) => ({
  value: name,
  label: <code>{name}</code>,
  hint: EVENT_SENTENCES[name],
}))

export const LOCAL_EXAMPLE = 'http://localhost:3000/hooks'

export const NEW_WEBHOOK: WebhookDraft = {
  url: '',
  events: ['user.connected', 'user.disconnected', 'usage.completed'],
  threshold: '1',
}

export function WebhookFields(props: {
  draft: WebhookDraft
  onChange: (change: Partial<WebhookDraft>) => void
}) {
  const { draft, onChange } = props
  return (
    <>
      <TextField
        name="url"
        label="Address"
        type="url"
        required
        maxLength={2048}
        spellCheck={false}
        placeholder={isSandbox() ? LOCAL_EXAMPLE : 'https://your-app.example/hooks'}
        hint={
          isSandbox()
            ? `https://, and in sandbox mode ${LOCAL_EXAMPLE} too.`
            : 'https://, and reachable from the internet.'
        }
        value={draft.url}
        onChange={(event) => onChange({ url: event.target.value })}
      />
      <CheckField
        name="events"
        label="Events"
        checks={EVENT_CHECKS}
        chosen={draft.events}
        onChange={(events) => onChange({ events })}
      />
      {draft.events.includes('balance.low') && (
        <TextField
          name="low_balance_threshold"
          label="A balance is low below"
          prefix="$"
          inputMode="decimal"
          value={draft.threshold}
          onChange={(event) => onChange({ threshold: event.target.value })}
        />
      )}
    </>
  )
}

export function draftOf(webhook: Webhook): WebhookDraft {
  const { url, events, low_balance_threshold: threshold } = webhook
  return { url, events, threshold: threshold === null ? '1' : writeDollars(threshold) }
}

/** As the API takes it. */
export function readDraft({ url, events, threshold }: WebhookDraft) {
  const chosen = EVENT_NAMES.filter((name) => events.includes(name))
  if (chosen.length === 0) throw wrongField('events', 'Choose at least one event.')
  return {
    url: url.trim(),
    events: chosen,
    low_balance_threshold: readThreshold(chosen, threshold),
  }
}

function readThreshold(events: readonly EventName[], typed: string): number | null {
  if (!events.includes('balance.low')) return null
  const credits = readDollars(typed)
  if (credits !== undefined && credits > 0) return credits
  throw wrongField('low_balance_threshold', 'Enter dollars, such as 1 or 0.50.')
}
