// The page that every `docs_url` points to: one element for each error code, whose id is the code.
import { STATUS_CODES } from 'node:http'
import { type Html, html } from './html.ts'
import { renderJson } from './reference/code.ts'
import { ERRORS_PATH, errorLink, renderDocumentation } from './reference/frame.ts'
import { renderInline, renderMarkdown } from './reference/markdown.ts'

export type ErrorRow = {
  code: string
  status: number
  message: string
  hint?: string
  explanation: string
}

export type ErrorDialect = 'openai' | 'anthropic' | 'oauth'

/** Makes the body as it is really sent, so that examples cannot drift from it. */
export type ErrorBody = (code: string, dialect: ErrorDialect) => unknown

export type ErrorsOptions = { readonly base_url?: string; readonly errorBody?: ErrorBody }

// For rows without a hint of their own. Keyed by status; the class of the status comes second.
const ADVICE: Readonly<Record<number, string>> = {
  400: 'Correct the request before sending it again: the same request fails the same way.',
  401: 'Send a valid credential of the kind that this endpoint takes.',
  402: 'Add credits to the wallet that pays, then send the request again.',
  403: 'Use a credential that is allowed to do this.',
  404: 'Check the identifier, and that it belongs to the account that calls.',
  409: 'Read the current state first: what you asked for conflicts with it.',
  429: 'Wait, as long as `Retry-After` says where it is sent, and lengthen the pause each time.',
  5: 'Your request is not at fault. Try again later, with a growing pause between attempts.',
}

export function renderErrors(rows: readonly ErrorRow[], options: ErrorsOptions = {}): string {
  const groups = groupByStatus(rows)
  return renderDocumentation({
    path: ERRORS_PATH,
    title: 'Error codes',
    description: 'Every error code: what it means, when it happens and what to do.',
    nav: renderNavigation(groups),
    body: html`${renderIntroduction(groups)}
${groups.map((group) => renderGroup(group, options))}`,
  })
}

type StatusGroup = { readonly status: number; readonly rows: readonly ErrorRow[] }

function groupByStatus(rows: readonly ErrorRow[]): readonly StatusGroup[] {
  const statuses = [...new Set(rows.map((row) => row.status))].sort((a, b) => a - b)
  return statuses.map((status) => ({ status, rows: rows.filter((row) => row.status === status) }))
}

function renderNavigation(groups: readonly StatusGroup[]): Html {
  return html`<ul><li><a href="#introduction">Overview</a></li></ul>
${groups.map(
  ({
    status,
    rows,
  }) => html`<p class="nav-title"><a href="#status-${status}">${status} ${reason(status)}</a></p>
<ul>${rows.map(({ code }) => html`<li><a href="#${code}"><code>${code}</code></a></li>`)}</ul>`,
)}`
}

function renderIntroduction(groups: readonly StatusGroup[]): Html {
  return html`<section class="chapter introduction" id="introduction"
 aria-labelledby="introduction-title">
<h1 id="introduction-title">Error codes</h1>
<div class="prose"><p>A failed request is answered with an HTTP status and a body that holds a
<code>code</code>. Decide by the code: it does not change. The message is written for people and
may change.</p></div>
${renderContents(groups)}
</section>`
}

function renderContents(groups: readonly StatusGroup[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="All error codes">
<table class="contents">
<thead><tr><th scope="col">Status</th><th scope="col">Code</th>
<th scope="col">Message</th></tr></thead>
<tbody>${groups.flatMap((group) =>
    group.rows.map(
      ({ code, status, message }) =>
        html`<tr><td>${renderStatus(status)}</td>
<td><a href="#${code}"><code>${code}</code></a></td><td>${message}</td></tr>`,
    ),
  )}</tbody>
</table></div>`
}

function renderGroup({ status, rows }: StatusGroup, options: ErrorsOptions): Html {
  const anchor = `status-${status}`
  return html`<section class="chapter" id="${anchor}" aria-labelledby="${anchor}--title">
<h2 id="${anchor}--title">${status} ${reason(status)}</h2>
</section>
${rows.map((row) => renderError(row, options))}`
}

function renderError(row: ErrorRow, options: ErrorsOptions): Html {
  const { code, status, message, hint, explanation } = row
  const body = options.errorBody?.(code, 'openai') ?? plainBody(row, options.base_url ?? '')
  return html`<section class="operation error" id="${code}" aria-labelledby="${code}--title">
<div class="account">
<h3 id="${code}--title"><a class="anchor" href="#${code}"><code>${code}</code></a></h3>
<p class="endpoint">${renderStatus(status)}<span>${reason(status)}</span></p>
<h4>What it means</h4>
<p>${renderInline(message)}</p>
<h4>When it happens</h4>
<div class="prose">${renderMarkdown(explanation)}</div>
<h4>What to do</h4>
<p>${renderInline(hint ?? adviceFor(status))}</p>
</div>
<div class="examples">${renderJson(`Response ${status}`, body)}</div>
</section>`
}

function plainBody({ code, message, hint }: ErrorRow, base_url: string): unknown {
  const docs_url = base_url.replace(/\/$/, '') + errorLink(code)
  return { error: { code, message, ...(hint !== undefined && { hint }), docs_url } }
}

function renderStatus(status: number): Html {
  return html`<span class="status s${Math.floor(status / 100)}">${status}</span>`
}

function adviceFor(status: number): string {
  return ADVICE[status] ?? ADVICE[Math.floor(status / 100)] ?? ADVICE[400] ?? ''
}

function reason(status: number): string {
  return STATUS_CODES[status] ?? ''
}
