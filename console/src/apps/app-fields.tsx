// The fields of an app, as they are typed: what stands in them is a draft, which the preview of the consent page shows
// while it is being written.

import { CheckField } from '../ui/check-field.tsx'
import { ChoiceField, TextArea, TextField, wrongField } from '../ui/form.tsx'
import { type App, type ClientType, KINDS, type Scope } from './apps.ts'

export type AppDraft = {
  name: string
  client_type: ClientType
  /** One address a line. */
  redirect_uris: string
  /** One a line. */
  origins: string
  device_grant: boolean
  markup: string
  scopes: readonly string[]
  require_external_user_id: boolean
}

const SCOPES: readonly Scope[] = ['credits.read', 'credits.spend']

export const NEW_APP: AppDraft = {
  name: '',
  client_type: 'web_server',
  redirect_uris: '',
  origins: '',
  device_grant: false,
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

const KIND_CHOICES = [
  { value: 'web_server', label: KINDS.web_server, hint: 'Keeps a secret that no user can read.' },
  {
    value: 'browser',
    label: KINDS.browser,
    hint: 'A static page. No secret; users always set a cap.',
  },
  {
    value: 'native',
    label: KINDS.native,
    hint: 'A command line, desktop or mobile app. No secret; users always set a cap.',
  },
] satisfies { value: ClientType; label: string; hint: string }[]

const REDIRECT_HINTS: Record<ClientType, string> = {
  web_server:
    'Where users return to, one a line, at most 10: https://, or http://localhost with any port.',
  browser:
    'Where users return to, one a line, at most 10: https://, or http://localhost with any port.',
  native:
    'Where users return to, one a line, at most 10: http://127.0.0.1 with any port, https://, or a scheme of your own such as com.example.app:/callback.',
}

type FieldsProps = { draft: AppDraft; onChange: (change: Partial<AppDraft>) => void }

/** Chosen once: what users agree to depends on it. */
export function KindField({ draft, onChange }: FieldsProps) {
  return (
    <ChoiceField
      name="client_type"
      label="Where it runs"
      choices={KIND_CHOICES}
      defaultValue={draft.client_type}
      onChange={(value) => {
        const chosen = KIND_CHOICES.find((kind) => kind.value === value)
        if (chosen) onChange({ client_type: chosen.value })
      }}
    />
  )
}

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
        hint={REDIRECT_HINTS[draft.client_type]}
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
  return (
    <>
      <CheckField
        name="allowed_scopes"
        label="The most that the app may ask for"
        checks={SCOPE_CHECKS}
        chosen={draft.scopes}
        onChange={(scopes) => onChange({ scopes })}
      />
      {draft.client_type === 'web_server' ? (
        <HostedField draft={draft} onChange={onChange} />
      ) : (
        <TextArea
          name="origins"
          label="More origins"
          hint="Pages that may call with the app’s tokens, beside those of the redirect addresses; one a line, such as capacitor://localhost."
          rows={2}
          spellCheck={false}
          value={draft.origins}
          onChange={(event) => onChange({ origins: event.target.value })}
        />
      )}
      {draft.client_type === 'native' && (
        <CheckField
          name="device_grant"
          label="Devices without a browser"
          checks={[
            {
              value: 'true',
              label: 'Let users sign in on another device',
              hint: 'They type a short code there. Where the device has a browser, a loopback address is safer.',
            },
          ]}
          chosen={draft.device_grant ? ['true'] : []}
          onChange={(chosen) => onChange({ device_grant: chosen.length > 0 })}
        />
      )}
    </>
  )
}

function HostedField({ draft, onChange }: FieldsProps) {
  return (
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
      chosen={draft.require_external_user_id ? ['true'] : []}
      onChange={(chosen) => onChange({ require_external_user_id: chosen.length > 0 })}
    />
  )
}

export function draftOf(app: App): AppDraft {
  return {
    name: app.name,
    client_type: app.client_type,
    origins: app.origins.join('\n'),
    device_grant: app.device_grant,
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
    client_type: draft.client_type,
    origins: readAddresses(draft.origins),
    device_grant: draft.client_type === 'native' && draft.device_grant,
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
