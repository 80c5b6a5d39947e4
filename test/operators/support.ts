// An operator, and what they ask.

import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { setOperator } from '../../src/operators/accounts.ts'
import type { TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'

export type Operator = Awaited<ReturnType<typeof makeOperator>>

export type List<Item> = { data: Item[]; has_more: boolean; next_cursor: string | null }

export async function makeOperator(service: TestApp) {
  const person = await service.register()
  await setOperator(service.parts, person.email, { who: 'test', is_operator: true })
  const read = async <Body>(url: string): Promise<Body> => {
    const reply = await service.request({ url, headers: person.bearer })
    assert.equal(reply.statusCode, 200, `${url}: ${reply.body}`)
    return reply.json<Body>()
  }
  const act = (url: string, body: object, headers: Record<string, string> = {}) => {
    // The record is in the order of its times, and the clock stands still.
    service.clock.advance(1)
    return service.post(url, { reason: 'a test', ...body }, { ...person.bearer, ...headers })
  }
  return { ...person, read, act }
}

export type ActFact = {
  who: string
  act: string
  subject: string
  reason: string | null
  operator_id: string | null
  session_id: string | null
  ip: string | null
}

/** Oldest first. */
export async function actsOf(service: TestApp, operator: { user_id: string }): Promise<ActFact[]> {
  return await sql<ActFact>(
    service.database_url,
    `select who, act, subject, reason, operator_id, session_id, ip from operator_act
     where operator_id = $1 order by id`,
    [operator.user_id],
  )
}

/** Every page of a list, one after the other. */
export async function readAll<Item>(operator: Operator, url: string, limit: number) {
  const pages: Item[][] = []
  let cursor: string | null = null
  do {
    const at: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: List<Item> = await operator.read<List<Item>>(
      `${url}${url.includes('?') ? '&' : '?'}limit=${limit}${at}`,
    )
    assert.ok(page.data.length <= limit)
    assert.equal(page.has_more, page.next_cursor !== null)
    pages.push(page.data)
    cursor = page.next_cursor
    assert.ok(pages.length < 100)
  } while (cursor !== null)
  return pages
}

export type Route = { method: 'GET' | 'POST' | 'PATCH'; url: string }

/** Read from the document, so that a route that is added is in it. */
export async function operatorRoutes(service: TestApp): Promise<Route[]> {
  const reply = await service.request({ url: '/openapi.json' })
  const { paths } = reply.json<{ paths: Record<string, Record<string, object>> }>()
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/operator/'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase() as Route['method'],
        url: path.replaceAll(/\{\w+\}/g, '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10'),
      })),
    )
}

export function withBody(route: Route, payload: string, headers: object): InjectOptions {
  const with_type = { 'content-type': 'application/json', ...headers }
  if (route.method === 'GET') return { ...route, headers: { ...headers } }
  return { ...route, payload, headers: with_type }
}
