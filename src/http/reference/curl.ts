// A `curl` command to paste into a shell: secrets are variables, everything else is quoted.
import { formatJson } from './code.ts'
import {
  type Endpoint,
  type MediaType,
  type OpenApiDocument,
  type Parameter,
  resolve,
  slug,
} from './document.ts'
import { mediaExample, schemaExample, writtenExample } from './example.ts'
import { readShape } from './schema.ts'
import { credentialOptions } from './security.ts'

const FORM = 'application/x-www-form-urlencoded'
const UPLOAD = 'multipart/form-data'

export function curlExample(
  document: OpenApiDocument,
  endpoint: Endpoint,
  base_url: string,
): string {
  const lines = [
    `curl "${exampleUrl(document, endpoint, base_url)}"`,
    ...(endpoint.method === 'get' ? [] : [`-X ${endpoint.method.toUpperCase()}`]),
    ...credentialOptions(document, endpoint.security),
    ...headerOptions(document, endpoint),
    ...bodyOptions(document, endpoint),
    ...outputOptions(endpoint),
  ]
  return lines.join(' \\\n  ')
}

function exampleUrl(document: OpenApiDocument, endpoint: Endpoint, base_url: string): string {
  const path = endpoint.path.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const parameter = endpoint.parameters.find(
      (found) => found.in === 'path' && found.name === name,
    )
    const value = parameter === undefined ? undefined : illustration(document, parameter)
    // Without an example the reader fills in a shell variable; braces would be expanded by curl.
    return value === undefined ? variableName(name) : encodeValue(value)
  })
  const query = endpoint.parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap((parameter) => {
      const value = parameterValue(document, parameter)
      return value === undefined ? [] : [`${parameter.name ?? ''}=${encodeValue(value)}`]
    })
  const address = base_url.replace(/\/$/, '').replace(/["$\\`]/g, '\\$&')
  return address + path + (query.length > 0 ? `?${query.join('&')}` : '')
}

function headerOptions(document: OpenApiDocument, endpoint: Endpoint): readonly string[] {
  return endpoint.parameters
    .filter((parameter) => parameter.in === 'header')
    .flatMap((parameter) => {
      const value = parameterValue(document, parameter)
      if (value === undefined) return []
      return [`-H ${quote(`${parameter.name ?? ''}: ${plainText(value)}`)}`]
    })
}

function bodyOptions(document: OpenApiDocument, endpoint: Endpoint): readonly string[] {
  const body = endpoint.operation.requestBody
  if (body === undefined) return []
  const content = resolve(body, document.components?.requestBodies).merged.content ?? {}
  const [type, media] = preferredMedia(content) ?? []
  if (type === undefined || media === undefined) return []
  const value = mediaExample(document, media, { optional: 'illustrated' })
  if (type === FORM) return formOptions('--data-urlencode', value)
  if (type === UPLOAD) return formOptions('-F', value)
  const stream = isStreaming(value) ? ['-N'] : []
  return [
    ...stream,
    `-H ${quote(`Content-Type: ${type}`)}`,
    `-d ${quote(indent(formatJson(value)))}`,
  ]
}

/** JSON where there is a choice: it is what the text around the example describes. */
export function preferredMedia(
  content: Readonly<Record<string, MediaType>>,
): readonly [string, MediaType] | undefined {
  const entries = Object.entries(content)
  return entries.find(([type]) => type.includes('json')) ?? entries[0]
}

function formOptions(option: string, value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).map(
    ([name, entry]) => `${option} ${quote(`${name}=${plainText(entry)}`)}`,
  )
}

// Sound printed on a terminal helps nobody.
function outputOptions(endpoint: Endpoint): readonly string[] {
  const types = Object.keys(endpoint.operation.responses?.['200']?.content ?? {})
  return types.some((type) => type.startsWith('audio/')) ? ['--output speech.mp3'] : []
}

/** What must be sent, and what the author cared to illustrate. */
function parameterValue(document: OpenApiDocument, parameter: Parameter): unknown {
  const written = illustration(document, parameter)
  if (written !== undefined || parameter.required !== true) return written
  const entry = parameter.schema ?? true
  if (readShape(document, entry).schema.default !== undefined) return undefined
  return schemaExample(document, entry, { optional: 'illustrated' })
}

function illustration(document: OpenApiDocument, parameter: Parameter): unknown {
  if (parameter.example !== undefined) return parameter.example
  if (parameter.schema === undefined) return undefined
  return writtenExample(readShape(document, parameter.schema).schema)
}

function variableName(name: string): string {
  return `$${slug(name).replaceAll('-', '_').toUpperCase()}`
}

function isStreaming(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'stream' in value && value.stream === true
}

// An exclamation mark is left alone by URL encoding and acted upon by interactive shells.
function encodeValue(value: unknown): string {
  return encodeURIComponent(plainText(value)).replaceAll('!', '%21')
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ')
}
