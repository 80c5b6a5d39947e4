// The one table of pages. The code of a page is `./<page>/page.tsx` and loads when it is first wanted; the left bar,
// titles, the command palette and the smoke test all read this table. Plain data, so that tests in Node can read it too.

export const GROUPS = ['build', 'wallet', 'operate', 'account'] as const
export type Group = (typeof GROUPS)[number]

export type PageRoute = {
  /** Under /console, as wouter matches it. */
  readonly path: string
  readonly title: string
  readonly group: Group
  /** The folder of its code. */
  readonly page: string
  /** Its sign in the left bar; a page without one is reached from another page. */
  readonly icon?: IconName
  readonly seen_by: 'everybody' | 'operators'
}

export const ICON_NAMES = [
  'overview',
  'keys',
  'apps',
  'webhooks',
  'usage',
  'playground',
  'earnings',
  'docs',
  'wallet',
  'statement',
  'topups',
  'health',
  'ledger',
  'models',
  'users',
  'payouts',
  'audit',
] as const
export type IconName = (typeof ICON_NAMES)[number]

const everybody = 'everybody' as const
const operators = 'operators' as const

export const ROUTES: readonly PageRoute[] = [
  {
    path: '/',
    title: 'Overview',
    group: 'build',
    page: 'overview',
    icon: 'overview',
    seen_by: everybody,
  },
  {
    path: '/keys',
    title: 'API keys',
    group: 'build',
    page: 'keys',
    icon: 'keys',
    seen_by: everybody,
  },
  { path: '/apps', title: 'Apps', group: 'build', page: 'apps', icon: 'apps', seen_by: everybody },
  { path: '/apps/:id', title: 'App', group: 'build', page: 'apps/app', seen_by: everybody },
  {
    path: '/webhooks',
    title: 'Webhooks',
    group: 'build',
    page: 'webhooks',
    icon: 'webhooks',
    seen_by: everybody,
  },
  {
    path: '/webhooks/:id',
    title: 'Webhook',
    group: 'build',
    page: 'webhooks/endpoint',
    seen_by: everybody,
  },
  {
    path: '/usage',
    title: 'Usage',
    group: 'build',
    page: 'usage',
    icon: 'usage',
    seen_by: everybody,
  },
  {
    path: '/playground',
    title: 'Playground',
    group: 'build',
    page: 'playground',
    icon: 'playground',
    seen_by: everybody,
  },
  {
    path: '/earnings',
    title: 'Earnings',
    group: 'build',
    page: 'earnings',
    icon: 'earnings',
    seen_by: everybody,
  },
  {
    path: '/wallet',
    title: 'Balance and apps',
    group: 'wallet',
    page: 'wallet',
    icon: 'wallet',
    seen_by: everybody,
  },
  {
    path: '/statement',
    title: 'Statement',
    group: 'wallet',
    page: 'statement',
    icon: 'statement',
    seen_by: everybody,
  },
  {
    path: '/topups',
    title: 'Top-ups',
    group: 'wallet',
    page: 'topups',
    icon: 'topups',
    seen_by: everybody,
  },
  { path: '/account', title: 'Account', group: 'account', page: 'account', seen_by: everybody },
  {
    path: '/account/sessions',
    title: 'Sessions',
    group: 'account',
    page: 'account/sessions',
    seen_by: everybody,
  },
  {
    path: '/account/security-log',
    title: 'Security log',
    group: 'account',
    page: 'account/security-log',
    seen_by: everybody,
  },
  {
    path: '/account/second-factor',
    title: 'Second factor',
    group: 'account',
    page: 'account/second-factor',
    seen_by: everybody,
  },
  {
    path: '/account/leave',
    title: 'Close the account',
    group: 'account',
    page: 'account/leave',
    seen_by: everybody,
  },
  {
    path: '/operate/health',
    title: 'Health',
    group: 'operate',
    page: 'operate/health',
    icon: 'health',
    seen_by: operators,
  },
  {
    path: '/operate/ledger',
    title: 'Ledger',
    group: 'operate',
    page: 'operate/ledger',
    icon: 'ledger',
    seen_by: operators,
  },
  {
    path: '/operate/models',
    title: 'Models and prices',
    group: 'operate',
    page: 'operate/models',
    icon: 'models',
    seen_by: operators,
  },
  {
    path: '/operate/users',
    title: 'Users',
    group: 'operate',
    page: 'operate/users',
    icon: 'users',
    seen_by: operators,
  },
  {
    path: '/operate/users/:id',
    title: 'User',
    group: 'operate',
    page: 'operate/users/user',
    seen_by: operators,
  },
  {
    path: '/operate/payouts',
    title: 'Payouts',
    group: 'operate',
    page: 'operate/payouts',
    icon: 'payouts',
    seen_by: operators,
  },
  {
    path: '/operate/webhooks',
    title: 'Webhook health',
    group: 'operate',
    page: 'operate/webhooks',
    icon: 'webhooks',
    seen_by: operators,
  },
  {
    path: '/operate/audit',
    title: 'Audit',
    group: 'operate',
    page: 'operate/audit',
    icon: 'audit',
    seen_by: operators,
  },
]
