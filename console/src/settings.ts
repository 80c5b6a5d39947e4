// What the server wrote into <html>, and the theme, which is the one thing that the browser keeps.

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const YEAR_S = 31_536_000

export function isSandbox(): boolean {
  return document.documentElement.dataset['mode'] === 'sandbox'
}

/** Where programs reach this service. */
export function baseUrl(): string {
  return document.documentElement.dataset['baseUrl'] ?? location.origin
}

export function readTheme(): Theme {
  const found = /(?:^|; )svc_theme=(\w+)/.exec(document.cookie)?.[1]
  return THEMES.find((theme) => theme === found) ?? 'system'
}

/** A cookie, so that the server can write it into the page before anything is painted. */
export function setTheme(theme: Theme): void {
  const life = theme === 'system' ? 0 : YEAR_S
  document.cookie = `svc_theme=${theme}; Path=/console; Max-Age=${life}; SameSite=Lax`
  applyTheme(theme)
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}
