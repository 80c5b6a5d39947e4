// Turns the schemas of routes into functions: those that read requests and those that write replies. Each is compiled when
// its route is used for the first time: together they took a third of a start, and most processes use a few of them.

import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { App } from './server.ts'

export function addSchemaCompilers(app: App): void {
  addValidation(app)
  const compile = SerializerSelector()({}, {})
  app.setSerializerCompiler((route) => {
    let write: ReturnType<typeof compile> | undefined
    return (data: unknown) => {
      write ??= compile({ ...route, httpStatus: route.httpStatus ?? '' })
      return write(data)
    }
  })
}

// Bodies are taken as they are: a number where text is asked for is an error, not text. Query strings and
// path parts are always text on the wire, so they are read as the type the schema asks for.
const OPTIONS = { useDefaults: true, allErrors: false, strict: false }
const strict = new Ajv({ ...OPTIONS, coerceTypes: false })
const coercing = new Ajv({ ...OPTIONS, coerceTypes: true })
for (const ajv of [strict, coercing]) addFormats.default(ajv)

function addValidation(app: App): void {
  app.setValidatorCompiler<object>(({ schema, httpPart }) => {
    let read: ValidateFunction | undefined
    return (data: unknown) => {
      read ??= (httpPart === 'body' ? strict : coercing).compile(schema)
      return read(data) ? true : { error: read.errors ?? [] }
    }
  })
}
