// The part of an OpenAPI 3.1 document that the reference reads, and how it is looked up: references
// into components, operations grouped by tag, anchors.

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly example?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, SchemaEntry>>
  readonly patternProperties?: Readonly<Record<string, SchemaEntry>>
  readonly additionalProperties?: SchemaEntry
  readonly required?: readonly string[]
  readonly items?: SchemaEntry
  readonly allOf?: readonly SchemaEntry[]
  readonly anyOf?: readonly SchemaEntry[]
  readonly oneOf?: readonly SchemaEntry[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly pattern?: string
  readonly deprecated?: boolean
}

/** JSON Schema allows `true` (anything) and `false` (nothing) wherever a schema may stand. */
export type SchemaEntry = Schema | boolean

export type Example = { readonly summary?: string; readonly value?: unknown }

export type MediaType = {
  readonly schema?: SchemaEntry
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example>>
}

export type Content = Readonly<Record<string, MediaType>>

export type Parameter = {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
  readonly required?: boolean
  readonly deprecated?: boolean
  readonly description?: string
  readonly schema?: SchemaEntry
  readonly example?: unknown
}

export type RequestBody = {
  readonly $ref?: string
  readonly description?: string
  readonly required?: boolean
  readonly content?: Content
}

export type Header = {
  readonly $ref?: string
  readonly description?: string
  readonly required?: boolean
  readonly schema?: SchemaEntry
}

export type Response = {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, Header>>
  readonly content?: Content
  readonly 'x-error-codes'?: readonly string[]
}

export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

export type SecurityScheme = {
  readonly $ref?: string
  readonly type?: string
  readonly scheme?: string
  readonly in?: string
  readonly name?: string
  readonly description?: string
}

export type Operation = {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  readonly security?: readonly SecurityRequirement[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: RequestBody
  readonly responses?: Readonly<Record<string, Response>>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const

export type Method = (typeof METHODS)[number]

export type PathItem = { readonly parameters?: readonly Parameter[] } & {
  readonly [method in Method]?: Operation
}

export type OpenApiDocument = {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths?: Readonly<Record<string, PathItem>>
  /** What the service sends by itself, by the name of the event. */
  readonly webhooks?: Readonly<Record<string, PathItem>>
  readonly security?: readonly SecurityRequirement[]
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
    readonly requestBodies?: Readonly<Record<string, RequestBody>>
    readonly responses?: Readonly<Record<string, Response>>
    readonly headers?: Readonly<Record<string, Header>>
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  }
}

/** One operation with all that belongs to its path, as the page shows it. */
export type Endpoint = {
  readonly anchor: string
  readonly method: Method
  readonly path: string
  readonly title: string
  readonly operation: Operation
  readonly parameters: readonly Parameter[]
  readonly security: readonly SecurityRequirement[]
}

export type EndpointGroup = {
  readonly anchor: string
  readonly name: string
  readonly description: string
  readonly endpoints: readonly Endpoint[]
}

// A chain of references longer than this is a circle.
const MAX_REFERENCE_HOPS = 16
const UNTAGGED = 'Other'

/** The checks that tell a document from any other JSON; the details are the generator's promise. */
export function isOpenApiDocument(value: unknown): value is OpenApiDocument {
  if (typeof value !== 'object' || value === null) return false
  if (!('openapi' in value) || typeof value.openapi !== 'string') return false
  if (!('info' in value) || typeof value.info !== 'object' || value.info === null) return false
  return 'title' in value.info && 'version' in value.info
}

/** Groups in the order of the document's tags, then in the order in which paths first use them. */
export function groupEndpoints(document: OpenApiDocument): readonly EndpointGroup[] {
  const descriptions = new Map(
    (document.tags ?? []).map((tag) => [tag.name, tag.description ?? '']),
  )
  const byTag = new Map<string, Endpoint[]>([...descriptions.keys()].map((name) => [name, []]))
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const endpoint of listEndpoints(document, path, item)) {
      const tag = endpoint.operation.tags?.[0] ?? UNTAGGED
      byTag.set(tag, [...(byTag.get(tag) ?? []), endpoint])
    }
  }
  return [...byTag]
    .filter(([, endpoints]) => endpoints.length > 0)
    .map(([name, endpoints]) => ({
      anchor: `tag-${slug(name)}`,
      name,
      description: descriptions.get(name) ?? '',
      endpoints,
    }))
}

/**
 * Follows `$ref` into a table of components. Words written beside the reference win over those of
 * its target, as OpenAPI 3.1 has it; `target` stays the very object of the table, so that a walk
 * can notice that it has come back to it.
 */
export function resolve<Entry extends { readonly $ref?: string }>(
  entry: Entry,
  table: Readonly<Record<string, Entry>> | undefined,
): { readonly target: Entry; readonly merged: Entry } {
  let target = entry
  let merged = entry
  for (let hop = 0; hop < MAX_REFERENCE_HOPS && target.$ref !== undefined; hop += 1) {
    const next = table?.[referenceName(target.$ref)]
    if (next === undefined) break
    const { $ref: _followed, ...beside } = merged
    merged = { ...next, ...beside }
    target = next
  }
  return { target, merged }
}

export function referenceName(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function listEndpoints(document: OpenApiDocument, path: string, item: PathItem): Endpoint[] {
  const written = Object.keys(item)
  const methods = METHODS.toSorted((a, b) => written.indexOf(a) - written.indexOf(b))
  return methods.flatMap((method) => {
    const operation = item[method]
    if (operation === undefined) return []
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
      (parameter) => resolve(parameter, document.components?.parameters).merged,
    )
    return {
      anchor: endpointAnchor(operation.operationId, method, path),
      method,
      path,
      title: operation.summary ?? `${method.toUpperCase()} ${path}`,
      operation,
      parameters,
      security: operation.security ?? document.security ?? [],
    }
  })
}

function endpointAnchor(operationId: string | undefined, method: Method, path: string): string {
  if (operationId !== undefined && /^[A-Za-z][\w.-]*$/.test(operationId)) return operationId
  return slug(operationId ?? `${method} ${path}`)
}
