// The API reference: a pure function from the OpenAPI document to one page of HTML that works
// offline and without script. Rendering takes a while for a large document, so render once.
import type { ErrorBody, ErrorRow } from '../errors-page.ts'
import { type Html, html } from '../html.ts'
import { type EndpointGroup, groupEndpoints, type OpenApiDocument } from './document.ts'
import { listEvents, renderEventLinks, renderEvents } from './events.ts'
import { ERRORS_PATH, REFERENCE_PATH, renderDocumentation } from './frame.ts'
import { renderMarkdown } from './markdown.ts'
import { type Reading, renderMethod, renderOperation } from './operation.ts'
import { renderSchemes } from './security.ts'

export { isOpenApiDocument, type OpenApiDocument } from './document.ts'

export type ReferenceOptions = {
  readonly base_url: string
  /** With the error table at hand, codes are shown with their message. */
  readonly errors?: readonly ErrorRow[]
  readonly errorBody?: ErrorBody
  /** Where the document itself is served. */
  readonly document_url?: string
}

export function renderReference(document: OpenApiDocument, options: ReferenceOptions): string {
  const groups = groupEndpoints(document)
  const events = listEvents(document)
  const schemes = renderSchemes(document)
  const reading: Reading = {
    document,
    base_url: options.base_url.replace(/\/$/, ''),
    errors: new Map((options.errors ?? []).map((row) => [row.code, row])),
    errorBody: options.errorBody,
  }
  return renderDocumentation({
    path: REFERENCE_PATH,
    title: document.info.title,
    description: `Every endpoint of ${document.info.title}, with examples.`,
    nav: html`${renderNavigation(groups, schemes !== undefined)}
${renderEventLinks(events)}`,
    body: html`${renderIntroduction(reading, options.document_url)}
${schemes}
${groups.map((group) => renderGroup(reading, group))}
${renderEvents(document, events)}`,
  })
}

function renderNavigation(groups: readonly EndpointGroup[], authentication: boolean): Html {
  return html`<ul><li><a href="#introduction">Introduction</a></li>
${authentication && html`<li><a href="#authentication">Authentication</a></li>`}
<li><a href="${ERRORS_PATH}">Error codes</a></li></ul>
${groups.map(
  (group) => html`<p class="nav-title"><a href="#${group.anchor}">${group.name}</a></p>
<ul>${group.endpoints.map(
    ({ anchor, title, method }) =>
      html`<li><a href="#${anchor}"><span>${title}</span>${renderMethod(method)}</a></li>`,
  )}</ul>`,
)}`
}

function renderIntroduction(reading: Reading, document_url: string | undefined): Html {
  const { info } = reading.document
  const source = html`<a href="${document_url}">OpenAPI ${reading.document.openapi}</a>`
  return html`<section class="chapter introduction" id="introduction"
 aria-labelledby="introduction-title">
<h1 id="introduction-title">${info.title}</h1>
<dl class="facts">
<div><dt>Base address</dt><dd><code>${reading.base_url}</code></dd></div>
<div><dt>Version</dt><dd>${info.version}</dd></div>
${document_url && html`<div><dt>Machine-readable</dt><dd>${source}</dd></div>`}
</dl>
<div class="prose">${renderMarkdown(info.description ?? '')}</div>
</section>`
}

function renderGroup(reading: Reading, group: EndpointGroup): Html {
  const { anchor: chapter, name } = group
  return html`<section class="chapter" id="${chapter}" aria-labelledby="${chapter}--title">
<h2 id="${chapter}--title">${name}</h2>
<div class="prose">${renderMarkdown(group.description)}</div>
<ul class="index">${group.endpoints.map(
    ({ anchor, method, path, title }) =>
      html`<li><a href="#${anchor}">${renderMethod(method)}<code>${path}</code>
<span>${title}</span></a></li>`,
  )}</ul>
</section>
${group.endpoints.map((endpoint) => renderOperation(reading, endpoint))}`
}
