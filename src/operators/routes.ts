// /operator/…: what the pages of operators are made of. Each write is the act that a `svc` command makes.

import type { App } from '../http/server.ts'
import type { OperatorParts } from './accounts.ts'
import { operatorAppRoutes } from './app-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { healthOverviewRoutes } from './health-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import type { ModelParts } from './model-list.ts'
import type { OverviewParts } from './overview.ts'
import { type PayoutRouteParts, payoutRoutes } from './payout-routes.ts'
import { userRoutes } from './user-routes.ts'
import { type WebhookActParts, webhookHealthRoutes } from './webhook-routes.ts'

export type OperatorRouteParts = OperatorParts &
  OverviewParts &
  ModelParts &
  PayoutRouteParts &
  WebhookActParts

export function operatorRoutes(app: App, parts: OperatorRouteParts): void {
  healthOverviewRoutes(app, parts)
  ledgerRoutes(app, parts)
  userRoutes(app, parts)
  operatorAppRoutes(app, parts)
  payoutRoutes(app, parts)
  webhookHealthRoutes(app, parts)
  auditRoutes(app, parts)
}
