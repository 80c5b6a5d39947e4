// What the command palette finds: pages, acts, and things by their id.

import { ROUTES } from '../routes.ts'
import { setTheme } from '../settings.ts'

export type Target = { label: string; note: string } & ({ to: string } | { run: () => void })
export type Finder = { is_operator: boolean; onShortcuts: () => void }

const SHOWN_MAX = 8
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Addresses that open with the act begun. */
const ACTS: readonly { label: string; to: string }[] = [
  { label: 'Create a key', to: '/keys?create=true' },
  { label: 'Register an app', to: '/apps?create=true' },
  { label: 'Add a webhook', to: '/webhooks?create=true' },
  { label: 'Make a call', to: '/playground' },
  { label: 'Top up', to: '/topups' },
  { label: 'Failed calls', to: '/usage?status=failed' },
  { label: 'Connect payouts', to: '/earnings' },
  { label: 'Disconnect an app', to: '/wallet' },
  { label: 'Change the password', to: '/account' },
  { label: 'Sign out elsewhere', to: '/account/sessions' },
]

const DOCS: readonly { label: string; to: string }[] = [
  { label: 'API reference', to: '/docs' },
  { label: 'Error codes', to: '/docs/errors' },
]

export function findTargets(query: string, finder: Finder): Target[] {
  const wanted = query.trim()
  const by_id = targetsOfId(wanted, finder.is_operator)
  if (by_id.length > 0) return by_id
  const words = wanted.toLowerCase().split(/\s+/)
  const isMeant = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  return [
    ...pages(finder.is_operator),
    ...ACTS.map((act) => ({ ...act, note: 'act' })),
    ...DOCS.map((page) => ({ ...page, note: 'docs' })),
    ...settings(finder),
  ]
    .filter((target) => isMeant(`${target.label} ${'to' in target ? target.to : ''}`))
    .slice(0, SHOWN_MAX)
}

function pages(is_operator: boolean): Target[] {
  return ROUTES.filter((route) => !route.path.includes(':'))
    .filter((route) => route.seen_by === 'everybody' || is_operator)
    .map((route) => ({ label: route.title, note: route.group, to: route.path }))
}

function settings({ onShortcuts }: Finder): Target[] {
  return [
    { label: 'Keyboard shortcuts', note: 'help', run: onShortcuts },
    { label: 'Dark theme', note: 'act', run: () => setTheme('dark') },
    { label: 'Light theme', note: 'act', run: () => setTheme('light') },
    { label: 'Theme as the system', note: 'act', run: () => setTheme('system') },
  ]
}

/** Ids with a prefix say what they name. A bare UUID may be a call, a key, an app or a person. */
function targetsOfId(id: string, is_operator: boolean): Target[] {
  const named = encodeURIComponent(id)
  if (/^wh_\w+$/.test(id)) return [{ label: 'Webhook', note: id, to: `/webhooks/${named}` }]
  if (/^evt_\w+$/.test(id)) return [{ label: 'Event', note: id, to: `/webhooks?event=${named}` }]
  if (/^acct_\w+$/.test(id)) return [{ label: 'Payout account', note: id, to: '/earnings' }]
  if (/^svc_client_[\w-]+$/.test(id)) {
    return [
      { label: 'App', note: id, to: `/apps?client_id=${named}` },
      { label: 'Usage of the app', note: id, to: `/usage?client_id=${named}` },
    ]
  }
  if (!UUID.test(id)) return []
  return [
    { label: 'Receipt of the call', note: id, to: `/usage?call=${named}` },
    { label: 'Key', note: id, to: `/keys?edit=${named}` },
    { label: 'Usage of the key', note: id, to: `/usage?key_id=${named}` },
    { label: 'App', note: id, to: `/apps/${named}` },
    ...(is_operator ? [{ label: 'User', note: id, to: `/operate/users/${named}` }] : []),
  ]
}
