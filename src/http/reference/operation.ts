// One operation of the reference: what it does on the left, what to type and what comes back on
// the right.
import { STATUS_CODES } from 'node:http'
import type { ErrorBody, ErrorRow } from '../errors-page.ts'
import { type Html, html, raw } from '../html.ts'
import { renderCode, renderJson } from './code.ts'
import { curlExample } from './curl.ts'
import {
  type Content,
  type Endpoint,
  type Header,
  type MediaType,
  type OpenApiDocument,
  type Response,
  resolve,
} from './document.ts'
import { errorDialect, mediaExample, withErrorCode } from './example.ts'
import { renderFields } from './fields.ts'
import { errorLink } from './frame.ts'
import { renderInline, renderMarkdown } from './markdown.ts'
import { describeField, listFields, typeLabel } from './schema.ts'
import { renderCredentials } from './security.ts'

export type Reading = {
  readonly document: OpenApiDocument
  readonly base_url: string
  readonly errors: ReadonlyMap<string, ErrorRow>
  readonly errorBody: ErrorBody | undefined
}

const PLACES = [
  { in: 'path', title: 'Path parameters' },
  { in: 'query', title: 'Query parameters' },
  { in: 'header', title: 'Request headers' },
  { in: 'cookie', title: 'Cookies' },
] as const

// What the generator writes where the author wrote nothing.
const NO_DESCRIPTION = 'Default Response'

export function renderOperation(reading: Reading, endpoint: Endpoint): Html {
  const { anchor, operation, title } = endpoint
  const responses = listResponses(reading.document, endpoint)
  const successes = responses.filter((response) => !response.failed)
  const curl = curlExample(reading.document, endpoint, reading.base_url)
  return html`<section class="operation" id="${anchor}" aria-labelledby="${anchor}--title">
<div class="account">
<h3 id="${anchor}--title"><a class="anchor" href="#${anchor}">${title}</a></h3>
<p class="endpoint">${renderMethod(endpoint.method)}<code>${breakPath(endpoint.path)}</code>
${operation.deprecated && html`<span class="deprecated">deprecated</span>`}</p>
<div class="prose">${renderMarkdown(operation.description ?? '')}</div>
<h4>Credential</h4>
${renderCredentials(reading.document, endpoint.security)}
${renderParameters(reading.document, endpoint)}
${renderRequestBody(reading.document, endpoint)}
<h4>Responses</h4>
<div class="responses">${responses.map((response) => renderResponse(reading, response))}</div>
</div>
<div class="examples">
${renderCode({ label: 'Request', text: curl })}
${successes.map((response) => renderExamples(reading, response))}
</div>
</section>`
}

export function renderMethod(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`
}

type StatusResponse = Response & { readonly status: string; readonly failed: boolean }

function listResponses(document: OpenApiDocument, endpoint: Endpoint): readonly StatusResponse[] {
  return Object.entries(endpoint.operation.responses ?? {}).map(([status, entry]) => ({
    ...resolve(entry, document.components?.responses).merged,
    status,
    failed: !/^[123]/.test(status),
  }))
}

function renderParameters(document: OpenApiDocument, endpoint: Endpoint): readonly Html[] {
  return PLACES.flatMap((place) => {
    const parameters = endpoint.parameters.filter((parameter) => parameter.in === place.in)
    if (parameters.length === 0) return []
    const rows = parameters.map((parameter) => {
      const required = parameter.required ?? false
      const field = describeField(document, parameter.schema ?? true, {
        path: parameter.name ?? '',
        required,
      })
      return {
        ...field,
        description: parameter.description ?? field.description,
        deprecated: parameter.deprecated ?? field.deprecated,
      }
    })
    return [html`<h4>${place.title}</h4>${renderFields(place.title, rows, 'request')}`]
  })
}

function renderRequestBody(document: OpenApiDocument, endpoint: Endpoint): Html | undefined {
  if (endpoint.operation.requestBody === undefined) return undefined
  const body = resolve(endpoint.operation.requestBody, document.components?.requestBodies).merged
  const types = Object.keys(body.content ?? {})
  const first = Object.values(body.content ?? {})[0]
  const media = [...types, ...(body.required === true ? [] : ['optional'])].join(', ')
  return html`<h4>Request body <span class="media">${media}</span></h4>
${body.description && html`<div class="prose">${renderMarkdown(body.description)}</div>`}
${first && renderBody(document, first, 'request')}`
}

function renderResponse(reading: Reading, response: StatusResponse): Html {
  const { status, failed } = response
  const details = [
    ...Object.entries(response.content ?? {}).map(([type, media]) =>
      renderMedia(reading, { response, type, media }),
    ),
    renderHeaders(reading.document, response.headers),
  ].filter((part) => part !== undefined)
  return html`<div class="response">
<p class="outcome"><span class="status s${status.charAt(0)}">${status}</span>
<span>${renderInline(describeResponse(response))}</span></p>
${renderErrorCodes(reading, response)}
${
  details.length > 0 &&
  html`<details${!failed && raw(' open')}>
<summary>${failed ? 'Body' : 'Fields'}<span class="unseen"> of ${status}</span></summary>
${details}</details>`
}
</div>`
}

function describeResponse({ status, description }: StatusResponse): string {
  if (description !== undefined && description !== NO_DESCRIPTION) return description
  return STATUS_CODES[status] ?? 'Any other status'
}

function renderErrorCodes({ errors }: Reading, response: StatusResponse): Html | undefined {
  const codes = response['x-error-codes'] ?? []
  if (codes.length === 0) return undefined
  return html`<ul class="codes">${codes.map((code) => {
    const message = errors.get(code)?.message
    return html`<li><a href="${errorLink(code)}"><code>${code}</code></a>
${message && html`<span>${message}</span>`}</li>`
  })}</ul>`
}

type ResponseMedia = {
  readonly response: StatusResponse
  readonly type: string
  readonly media: MediaType
}

function renderMedia(reading: Reading, { response, type, media }: ResponseMedia): Html {
  return html`<div class="body">
<p class="media">${type}</p>
${renderBody(reading.document, media, 'response')}
${response.failed && renderExample(reading, { response, type, media })}
</div>`
}

function renderBody(
  document: OpenApiDocument,
  media: MediaType,
  kind: 'request' | 'response',
): Html | undefined {
  if (media.schema === undefined) return undefined
  const rows = listFields(document, media.schema)
  if (rows.length === 0) return html`<p class="type">${typeLabel(document, media.schema)}</p>`
  return renderFields(kind === 'request' ? 'Request body' : 'Response body', rows, kind)
}

function renderHeaders(
  document: OpenApiDocument,
  headers: Readonly<Record<string, Header>> | undefined,
): Html | undefined {
  const rows = Object.entries(headers ?? {}).map(([path, entry]) => {
    const header = resolve(entry, document.components?.headers).merged
    const field = describeField(document, header.schema ?? true, { path, required: true })
    return { ...field, description: header.description ?? field.description }
  })
  if (rows.length === 0) return undefined
  return html`<div class="body"><p class="media">Response headers</p>
${renderFields('Response headers', rows, 'response')}</div>`
}

function renderExamples(reading: Reading, response: StatusResponse): readonly Html[] {
  const content: Content = response.content ?? {}
  return Object.entries(content).flatMap(
    ([type, media]) => renderExample(reading, { response, type, media }) ?? [],
  )
}

function renderExample(reading: Reading, shown: ResponseMedia): Html | undefined {
  const { response, type, media } = shown
  const label = type.includes('json')
    ? `Response ${response.status}`
    : `Response ${response.status}, ${type}`
  const example = mediaExample(reading.document, media, { optional: 'all' })
  if (typeof example === 'string' && !type.includes('json')) {
    return type.startsWith('text/') ? renderCode({ label, text: example }) : undefined
  }
  if (example === undefined || example === null) return undefined
  const code = response['x-error-codes']?.[0]
  if (code === undefined) return renderJson(label, example)
  return renderJson(label, errorExample(reading, code, example))
}

function errorExample(reading: Reading, code: string, example: unknown): unknown {
  const dialect = errorDialect(example)
  if (dialect === undefined) return example
  const exact = reading.errorBody?.(code, dialect)
  if (exact !== undefined) return exact
  const row = reading.errors.get(code) ?? { code }
  return withErrorCode(example, row, reading.base_url + errorLink(code))
}

/** A long path may wrap on a phone, but only before a slash. */
function breakPath(path: string): readonly Html[] {
  return path.split(/(?=\/)/).map((segment) => html`<wbr>${segment}`)
}
