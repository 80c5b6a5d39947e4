// The fields of an app, as they are typed: what stands in them is a draft, which the preview of the consent page shows
// while it is being written.

import { CheckField } from '../ui/check-field.tsx'
import { TextArea, TextField, wrongField } from '../ui/form.tsx'
import type { App, Scope } from './apps.ts'

export type AppDraft = {
  name: string
  /** One address a line. */
  redirect_uris: string
  markup: string
  scopes: readonly string[]
  require_external_user_id: boolean
}

const SCOPES: readonly Scope[] = ['credits.read', 'credits.spend']

export const NEW_APP: AppDraft = {
  name: '',
  redirect_uris: '',
  markup: '0',
  scopes: SCOPES,
  require_external_user_id: true,
}

const SCOPE_CHECKS = [
  { value: 'credits.read', label: 'See the balance', hint: 'credits.read' },
  {
    value: 'credits.spend',
    label: 'Spend credits',
    hint: 'credits.spend: the user pays for the calls that you make for them',
  },
] satisfies { value: Scope; label: string; hint: string }[]

type FieldsProps = { draft: AppDraft; onChange: (change: Partial<AppDraft>) => void }

export function AppFields({ draft, onChange }: FieldsProps) {
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="Users read it on the consent page."
        maxLength={100}
        required
        value={draft.name}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      <TextArea
        name="redirect_uris"
        label="Redirect addresses"
        hint="Where users return to, one a line, at most 10: https://, or http://localhost with any port."
        rows={3}
        required
        spellCheck={false}
        placeholder="https://your-app.example/callback"
        value={draft.redirect_uris}
        onChange={(event) => onChange({ redirect_uris: event.target.value })}
      />
      <TextField
        name="markup_percent"
        label="Markup in percent"
        hint="What you earn on top of the price of each call that a user pays for. 0 to 100, at most two decimals."
        inputMode="decimal"
        value={draft.markup}
        onChange={(event) => onChange({ markup: event.target.value })}
      />
    </>
  )
}

/** What most apps never change. */
export function MoreAppFields({ draft, onChange }: FieldsProps) {
  const { require_external_user_id } = draft
  return (
    <>
      <CheckField
        name="allowed_scopes"
        label="The most that the app may ask for"
        checks={SCOPE_CHECKS}
        chosen={draft.scopes}
        onChange={(scopes) => onChange({ scopes })}
      />
      <CheckField
        name="require_external_user_id"
        label="Hosted storage"
        checks={[
          {
            value: 'true',
            label: 'Link nobody unless your server names the user again',
            hint: 'Recommended. The exchange of the code must carry external_user_id, so that nobody can take the link of somebody else.',
          },
        ]}
        chosen={require_external_user_id ? ['true'] : []}
        onChange={(chosen) => onChange({ require_external_user_id: chosen.length > 0 })}
      />
    </>
  )
}

export function draftOf(app: App): AppDraft {
  return {
    name: app.name,
    redirect_uris: app.redirect_uris.join('\n'),
    markup: String(app.markup_percent),
    scopes: app.allowed_scopes,
    require_external_user_id: app.require_external_user_id,
  }
}

/** As the API takes it. */
export function readDraft(draft: AppDraft) {
  const markup_percent = readMarkup(draft.markup)
  if (markup_percent === undefined) {
    throw wrongField('markup_percent', 'Enter a number from 0 to 100, such as 20 or 7.5.')
  }
  if (draft.scopes.length === 0) {
    throw wrongField('allowed_scopes', 'Choose at least one.')
  }
  return {
    name: draft.name.trim(),
    redirect_uris: readAddresses(draft.redirect_uris),
    markup_percent,
    allowed_scopes: SCOPES.filter((scope) => draft.scopes.includes(scope)),
    require_external_user_id: draft.require_external_user_id,
  }
}

export function readAddresses(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Undefined if it is no markup that there can be. */
export function readMarkup(text: string): number | undefined {
  const plain = text.trim().replace(/\s*%$/, '').replace(',', '.')
  if (plain === '') return 0
  if (!/^\d{1,3}(\.\d{1,2})?$/.test(plain)) return undefined
  return Number(plain) <= 100 ? Number(plain) : undefined
}
