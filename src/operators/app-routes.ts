// /operator/apps: finding apps, and suspending them.

import { Type } from 'typebox'
import { Page, PageQuery } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { OperatorParts } from './accounts.ts'
import { actorOf, Changed, LIST, TAGS, Why, write } from './actor.ts'
import { resumeClient, suspendClient } from './apps.ts'
import { searchApps } from './search.ts'
import { OperatorApp, presentApp, SearchText } from './user-schemas.ts'

const Params = Type.Object({ client_id: Type.String({ examples: ['svc_client_3fJ9'] }) })

export function operatorAppRoutes(app: App, parts: OperatorParts): void {
  app.get(
    '/operator/apps',
    {
      config: LIST,
      schema: {
        tags: TAGS,
        operationId: 'operator_list_apps',
        summary: 'Find apps',
        description:
          'By the whole client id, the id of their developer, or the beginning of the name, then sorted by name; without `query` all, newest first.',
        querystring: Type.Object({ ...PageQuery.properties, query: Type.Optional(SearchText) }),
        response: { 200: Page(OperatorApp) },
      },
    },
    async (request) => {
      const { query = '', cursor, limit } = request.query
      const page = await searchApps(parts.db, { query: query.trim(), cursor, limit })
      return { ...page, data: page.data.map(presentApp) }
    },
  )
  app.post(
    '/operator/apps/:client_id/suspend',
    {
      config: write(),
      schema: {
        tags: TAGS,
        operationId: 'operator_suspend_app',
        summary: 'Suspend an app',
        description:
          'Nothing new starts through it, on every machine within a second: its tokens and links get 403 with the reason, and its developer is told by mail.',
        params: Params,
        body: Why,
        response: { 200: Changed },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      return { changed: await suspendClient(parts, request.params.client_id, by) }
    },
  )
  app.post(
    '/operator/apps/:client_id/resume',
    {
      config: write(),
      schema: {
        tags: TAGS,
        operationId: 'operator_resume_app',
        summary: 'Resume an app',
        description: 'As it was before it was suspended.',
        params: Params,
        body: Why,
        response: { 200: Changed },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      return { changed: await resumeClient(parts, request.params.client_id, by) }
    },
  )
}
