// What the documentation pages share: the top bar that leads from one to the other.
import { type Html, renderPage } from '../html.ts'

export const REFERENCE_PATH = '/docs'
export const ERRORS_PATH = '/docs/errors'

const PAGES = [
  { href: REFERENCE_PATH, label: 'Reference' },
  { href: ERRORS_PATH, label: 'Errors' },
] as const

export type DocumentationPage = {
  readonly path: (typeof PAGES)[number]['href']
  readonly title: string
  readonly description: string
  readonly nav: Html
  readonly body: Html
}

export function renderDocumentation({ path, ...page }: DocumentationPage): string {
  const links = PAGES.map((link) => ({ ...link, current: link.href === path }))
  return renderPage({ ...page, links, home: REFERENCE_PATH })
}

export function errorLink(code: string): string {
  return `${ERRORS_PATH}#${encodeURIComponent(code)}`
}
