// The one way this service writes HTML: a template tag that escapes whatever is put into it, and
// the frame shared by every page. Pages carry no script and no inline style, so that the content
// security policy can forbid both.
import { createHash } from 'node:crypto'
import { pageStyle } from './page-style.ts'

// A symbol key, because no parsed JSON can carry one: data can never pass itself off as markup.
const MARKUP = Symbol('markup')

export type Html = { readonly [MARKUP]: string }

export type HtmlContent =
  | Html
  | string
  | number
  | bigint
  | false
  | null
  | undefined
  | readonly HtmlContent[]

export type PageLink = { readonly href: string; readonly label: string; readonly current?: boolean }

export type Page = {
  readonly title: string
  readonly body: Html
  /** Side navigation: a sticky column on a wide screen, a folding menu on a narrow one. */
  readonly nav?: Html
  /** Links of the top bar. */
  readonly links?: readonly PageLink[]
  /** Where the word mark leads; without it the word mark is plain text. */
  readonly home?: string
  readonly description?: string
  /** `narrow` is one centred column, for login and consent. */
  readonly layout?: 'reading' | 'narrow'
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

// The version in the address lets the style sheet be cached for ever and still change at once.
export const STYLESHEET_PATH = '/assets/style.css'
const STYLESHEET_VERSION = createHash('sha256').update(pageStyle).digest('hex').slice(0, 12)
const STYLESHEET_URL = `${STYLESHEET_PATH}?v=${STYLESHEET_VERSION}`

// An entry and the double line under a settled sum, the same double line as under the word mark.
const ICON_URL = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
    '<rect width="32" height="32" rx="7" fill="#0b6b5b"/>' +
    '<path d="M8 11h16M8 19h16M8 24h16" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/>' +
    '</svg>',
)}`

/** Interpolations are escaped for text and for quoted attributes: always quote attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  return raw(String.raw({ raw: strings }, ...values.map(contentText)))
}

/** Vouches for markup written by us. Never pass anything that came from outside. */
export function raw(markup: string): Html {
  return { [MARKUP]: markup }
}

export function htmlText(content: Html): string {
  return content[MARKUP]
}

export function renderPage(page: Page): string {
  const layout = page.layout ?? 'reading'
  return htmlText(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · svc</title>
${page.description && html`<meta name="description" content="${page.description}">`}
<link rel="stylesheet" href="${STYLESHEET_URL}">
<link rel="icon" href="${ICON_URL}">
</head>
<body class="${layout}${page.nav ? ' with-nav' : ''}">
<a class="skip" href="#main">Skip to content</a>
${renderMasthead(page)}
<div class="frame">
${page.nav && renderNavigation(page.nav)}
<main id="main" tabindex="-1">
${page.body}
</main>
</div>
</body>
</html>
`)
}

function renderMasthead(page: Page): Html {
  const word = html`<span class="mark">svc</span>`
  const mark = page.home
    ? html`<a class="home" href="${page.home}" aria-label="svc, start page">${word}</a>`
    : word
  const links = page.links ?? []
  return html`<header class="masthead"><div class="masthead-row">
${mark}
${
  links.length > 0 &&
  html`<nav class="masthead-links" aria-label="Pages">${links.map(
    (link) =>
      html`<a href="${link.href}"${link.current && raw(' aria-current="page"')}>${link.label}</a>`,
  )}</nav>`
}
${page.nav && html`<a class="to-contents" href="#contents">Contents</a>`}
</div></header>`
}

// Written twice and shown once: a closed <details> cannot be forced open by style in every browser
// still in use, and the style sheet removes the other copy from the accessibility tree as well.
function renderNavigation(nav: Html): Html {
  return html`<details class="menu" id="contents"><summary>On this page</summary>
<nav aria-label="Contents">${nav}</nav></details>
<aside class="side"><nav aria-label="Contents">${nav}</nav></aside>`
}

function contentText(content: HtmlContent): string {
  if (content === null || content === undefined || content === false) return ''
  if (typeof content === 'string') return escapeHtml(content)
  if (typeof content === 'number' || typeof content === 'bigint') return String(content)
  if (isContentList(content)) return content.map(contentText).join('')
  return content[MARKUP]
}

function isContentList(content: Html | readonly HtmlContent[]): content is readonly HtmlContent[] {
  return Array.isArray(content)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
