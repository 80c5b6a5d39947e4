// Which credential an operation takes, said in words for the reader and in headers for the example.
import { type Html, html } from '../html.ts'
import {
  type OpenApiDocument,
  resolve,
  type SecurityRequirement,
  type SecurityScheme,
  slug,
} from './document.ts'
import { renderMarkdown } from './markdown.ts'

export function schemeAnchor(name: string): string {
  return `auth-${slug(name)}`
}

/** One sentence for each way in; the ways are alternatives. */
export function renderCredentials(
  document: OpenApiDocument,
  security: readonly SecurityRequirement[],
): Html {
  const ways = security.map((requirement) => renderWay(document, requirement))
  if (ways.length === 0) return html`<p class="credentials">No credential needed.</p>`
  return html`<p class="credentials">${ways.map((way, index) => [index > 0 && ' or ', way])}</p>`
}

export function renderSchemes(document: OpenApiDocument): Html | undefined {
  const schemes = Object.entries(document.components?.securitySchemes ?? {})
  if (schemes.length === 0) return undefined
  return html`<section class="chapter" id="authentication" aria-labelledby="authentication-title">
<h2 id="authentication-title">Authentication</h2>
<dl class="schemes">${schemes.map(([name, entry]) => {
    const scheme = resolve(entry, document.components?.securitySchemes).merged
    return html`<div id="${schemeAnchor(name)}">
<dt>${schemeTitle(name)}<code>${schemePlace(scheme)}</code></dt>
<dd>${renderMarkdown(scheme.description ?? '')}</dd></div>`
  })}</dl>
</section>`
}

/** The `curl` options that present the first accepted credential; none for an open operation. */
export function credentialOptions(
  document: OpenApiDocument,
  security: readonly SecurityRequirement[],
): readonly string[] {
  const names = Object.keys(security[0] ?? {})
  return names.flatMap((name) => {
    const entry = document.components?.securitySchemes?.[name]
    if (entry === undefined) return []
    return schemeOption(name, resolve(entry, document.components?.securitySchemes).merged)
  })
}

function schemeOption(name: string, scheme: SecurityScheme): string {
  const variable = `$SVC_${slug(separateWords(name)).replaceAll('-', '_').toUpperCase()}`
  if (scheme.type === 'http' && scheme.scheme?.toLowerCase() === 'basic') return `-u "${variable}"`
  if (scheme.type !== 'apiKey') return `-H "Authorization: Bearer ${variable}"`
  const place = scheme.name ?? ''
  return scheme.in === 'cookie' ? `-b "${place}=${variable}"` : `-H "${place}: ${variable}"`
}

function renderWay(document: OpenApiDocument, requirement: SecurityRequirement): Html {
  const needs = Object.entries(requirement)
  if (needs.length === 0) return html`no credential`
  return html`${needs.map(([name, scopes], index) => [
    index > 0 && ' and ',
    document.components?.securitySchemes?.[name] === undefined
      ? html`<span>${schemeTitle(name)}</span>`
      : html`<a href="#${schemeAnchor(name)}">${schemeTitle(name)}</a>`,
    scopes.length > 0 && html` with ${scopes.map((scope) => html`<code>${scope}</code> `)}`,
  ])}`
}

function schemePlace(scheme: SecurityScheme): string {
  if (scheme.type === 'http' && scheme.scheme?.toLowerCase() === 'basic') {
    return 'Authorization: Basic …'
  }
  if (scheme.type !== 'apiKey') return 'Authorization: Bearer …'
  if (scheme.in === 'cookie') return `Cookie: ${scheme.name ?? ''}=…`
  return `${scheme.name ?? ''}: …`
}

/** `apiKeyHeader` and `api_key_header` both read "API key header". */
function schemeTitle(name: string): string {
  const words = separateWords(name).replace(/[_-]+/g, ' ').toLowerCase()
  const title = words.charAt(0).toUpperCase() + words.slice(1)
  return title.replace(/^Api\b/, 'API').replace(/^Oauth\b/, 'OAuth')
}

function separateWords(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
}
