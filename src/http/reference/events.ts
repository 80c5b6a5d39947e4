// The chapter of events: what the service sends to addresses of its users, from the document's `webhooks`.
import { type Html, html } from '../html.ts'
import { renderJson } from './code.ts'
import { type OpenApiDocument, type Operation, slug } from './document.ts'
import { mediaExample } from './example.ts'
import { renderFields } from './fields.ts'
import { renderMarkdown } from './markdown.ts'
import { listFields } from './schema.ts'

type SentEvent = {
  readonly anchor: string
  readonly name: string
  readonly operation: Operation
}

export function listEvents(document: OpenApiDocument): readonly SentEvent[] {
  return Object.entries(document.webhooks ?? {}).flatMap(([name, { post: operation }]) =>
    operation === undefined ? [] : [{ name, operation, anchor: `event-${slug(name)}` }],
  )
}

export function renderEventLinks(events: readonly SentEvent[]): Html | undefined {
  if (events.length === 0) return undefined
  return html`<p class="nav-title"><a href="#events">Events</a></p>
<ul>${events.map(({ anchor, name }) => html`<li><a href="#${anchor}"><span>${name}</span></a></li>`)}</ul>`
}

export function renderEvents(
  document: OpenApiDocument,
  events: readonly SentEvent[],
): Html | undefined {
  if (events.length === 0) return undefined
  return html`<section class="chapter" id="events" aria-labelledby="events--title">
<h2 id="events--title">Events</h2>
<div class="prose"><p>What webhooks are sent, as a POST with a signature.</p></div>
</section>
${events.map((event) => renderEvent(document, event))}`
}

function renderEvent(document: OpenApiDocument, { anchor, name, operation }: SentEvent): Html {
  const [media] = Object.values(operation.requestBody?.content ?? {})
  const schema = media?.schema
  return html`<section class="operation" id="${anchor}" aria-labelledby="${anchor}--title">
<div class="account">
<h3 id="${anchor}--title"><a class="anchor" href="#${anchor}">${name}</a></h3>
<div class="prose">${renderMarkdown(operation.description ?? '')}</div>
<h4>Body</h4>
${schema !== undefined && renderFields('Body', listFields(document, schema), 'response')}
</div>
<div class="examples">
${media && renderJson('Body', mediaExample(document, media, { optional: 'all' }))}
</div>
</section>`
}
