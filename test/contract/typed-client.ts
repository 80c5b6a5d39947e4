// Turns the OpenAPI document into the source of a typed client: what a stranger's generator would make of it.

type Schema = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  additionalProperties?: Schema | boolean
  patternProperties?: Record<string, Schema>
}
type Content = Record<string, { schema?: Schema }>
type Parameter = { name: string; in: string; required?: boolean; schema?: Schema }
type Operation = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const RUNTIME = `
export type Reply<Body> = Omit<Response, 'json'> & { json(): Promise<Body> }
type Given = { path?: object; query?: object; headers?: object; body?: unknown }

export class ApiFailure extends Error {
  readonly status: number
  readonly error: Schemas['Error']['error']
  constructor(status: number, { error }: Schemas['Error']) {
    super(error.message)
    this.status = status
    this.error = error
  }
}

export function createClient(base_url: string, credentials: Record<string, string> = {}) {
  async function call<Body>(method: string, template: string, type: string, given: Given = {}): Promise<Reply<Body>> {
    const parts = new Map(Object.entries(given.path ?? {}))
    const path = template.replaceAll(/\\{(\\w+)\\}/g, (_, name: string) => encodeURIComponent(String(parts.get(name))))
    const query = new URLSearchParams(Object.entries(given.query ?? {}).map(([name, value]) => [name, String(value)]))
    const headers = new Headers({ ...credentials, ...given.headers })
    const request: RequestInit = { method, headers }
    if (type === 'application/json') {
      headers.set('content-type', type)
      request.body = JSON.stringify(given.body)
    } else if (type === 'multipart/form-data') request.body = given.body as FormData
    else if (type !== '') request.body = new URLSearchParams(given.body as Record<string, string>)
    const response = await fetch(base_url + path + (query.size > 0 ? '?' + query : ''), request)
    if (!response.ok) throw new ApiFailure(response.status, (await response.json()) as Schemas['Error'])
    return response
  }
  return {
`

export function writeClient(document: Document): string {
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `  ${name}: ${typeOf(schema)}\n`,
  )
  const methods = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => writeMethod(method, path, operation)),
  )
  return `export type Schemas = {\n${schemas.join('')}}\n${RUNTIME}${methods.join('')}  }\n}\n`
}

function writeMethod(method: string, path: string, operation: Operation): string {
  const [type = '', media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const sections = ['path', 'query', 'header'].flatMap((place) => {
    const found = (operation.parameters ?? []).filter((parameter) => parameter.in === place)
    if (found.length === 0) return []
    const properties = Object.fromEntries(found.map(({ name, schema }) => [name, schema ?? {}]))
    const required = found.flatMap(({ name, required }) => (required ? [name] : []))
    const optional = required.length === 0 ? '?' : ''
    const written = typeOf({ type: 'object', properties, required })
    return [`${place === 'header' ? 'headers' : place}${optional}: ${written}`]
  })
  if (type === 'multipart/form-data') sections.push('body: FormData')
  else if (media) sections.push(`body: ${typeOf(media.schema ?? {})}`)
  const needed = sections.some((section) => !/^\w+\?/.test(section))
  const given = sections.length === 0 ? '' : `given${needed ? '' : '?'}: { ${sections.join('; ')} }`
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))
  const reply = typeOf(success?.[1].content?.['application/json']?.schema ?? {})
  const values = [method.toUpperCase(), path, type].map((value) => `'${value}'`).join(', ')
  const argument = given === '' ? '' : ', given'
  return `    ${operation.operationId}: (${given}) => call<${reply}>(${values}${argument}),\n`
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `Schemas['${schema.$ref.split('/').at(-1)}']`
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map((one) => `(${typeOf(one)})`).join(' | ')
  return [schema.type ?? 'anything']
    .flat()
    .map((type) => typeOfKind(type, schema))
    .join(' | ')
}

function typeOfKind(type: string, schema: Schema): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `(${typeOf(schema.items ?? {})})[]`
    case 'object':
      return objectType(schema)
    default:
      return 'unknown'
  }
}

function objectType(schema: Schema): string {
  const { properties, required = [], additionalProperties } = schema
  const pattern = Object.values(schema.patternProperties ?? {})[0]
  const others = pattern ?? (typeof additionalProperties === 'object' ? additionalProperties : {})
  if (!properties) return `Record<string, ${typeOf(others)}>`
  const fields = Object.entries(properties).map(
    ([name, field]) =>
      `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(field)}`,
  )
  return `{ ${fields.join('; ')} }`
}
