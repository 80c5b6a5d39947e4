// The table of fields, the same for parameters, bodies and headers. Two columns only, so that it
// can be read on a phone without scrolling sideways.
import { type Html, html } from '../html.ts'
import { renderMarkdown } from './markdown.ts'
import type { FieldRow } from './schema.ts'

const MAX_CHOICES = 60

export function renderFields(
  label: string,
  rows: readonly FieldRow[],
  kind: 'request' | 'response',
): Html {
  return html`<div class="scroll"><table class="fields" aria-label="${label}">
<colgroup><col class="name"><col></colgroup>
<thead class="unseen"><tr><th scope="col">Name</th>
<th scope="col">Type and meaning</th></tr></thead>
<tbody>${rows.map((row) => renderRow(row, kind))}</tbody>
</table></div>`
}

function renderRow(row: FieldRow, kind: 'request' | 'response'): Html {
  const constraints = row.constraints.map((text) => html`<span>${text}</span>`)
  const deprecated = row.deprecated && html`<span class="deprecated">deprecated</span>`
  return html`<tr><th scope="row">${renderName(row.path)}${renderPresence(row, kind)}</th><td>
<p class="type">${row.type}${constraints}${deprecated}</p>
${row.description !== '' && html`<div class="prose">${renderMarkdown(row.description)}</div>`}
${renderChoices(row.choices)}
${renderDefault(row.fallback)}
</td></tr>`
}

// The parents are dimmed and the line may break after each dot: the eye looks for the last name.
function renderName(path: string): Html {
  const parts = path.split(/(?<=\.)/)
  const last = parts.pop() ?? ''
  const parents = parts.map((part) => html`<span class="parent">${part}</span><wbr>`)
  return html`<code>${parents}${last}</code>`
}

// In a request the reader must know what to send, in a response what may be missing. The schema of
// a field with a default may call it required, yet nobody has to send it.
function renderPresence(row: FieldRow, kind: 'request' | 'response'): Html | undefined {
  if (kind === 'request' && row.required && row.fallback === undefined) {
    return html`<span class="required">required</span>`
  }
  if (kind === 'response' && !row.required) return html`<span class="optional">optional</span>`
  return undefined
}

function renderChoices(choices: readonly unknown[]): Html | undefined {
  if (choices.length === 0) return undefined
  const shown = choices
    .slice(0, MAX_CHOICES)
    .map((value) => html`<code>${showValue(value)}</code> `)
  const rest = choices.length - shown.length
  const lead = choices.length === 1 ? 'Always' : 'One of'
  return html`<p class="choices">${lead} ${shown}${rest > 0 && `and ${rest} more`}</p>`
}

function renderDefault(value: unknown): Html | undefined {
  if (value === undefined) return undefined
  return html`<p class="choices">Default <code>${showValue(value)}</code></p>`
}

function showValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
