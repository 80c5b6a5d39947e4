// What operators do to apps.

import { findAppOfClient } from '../oauth/apps.ts'
import { resumeApp, suspendApp } from '../oauth/suspension.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { OperatorParts } from './accounts.ts'
import { type By, recordAct } from './acts.ts'

type AppOfClient = NonNullable<Awaited<ReturnType<typeof findAppOfClient>>>

/** False if it was suspended already: the first reason stays. */
export async function suspendClient(
  parts: OperatorParts,
  client_id: string,
  by: By & { reason: string },
): Promise<boolean> {
  return await parts.db.transaction(async (tx) => {
    const app = await requireApp(tx, client_id)
    if (app.suspended_at) return false
    await suspendApp(parts, tx, { client_id, reason: by.reason })
    await recordAppAct(parts, tx, { ...by, act: 'app suspend', app })
    return true
  })
}

/** False if it was not suspended. */
export async function resumeClient(
  parts: OperatorParts,
  client_id: string,
  by: By,
): Promise<boolean> {
  return await parts.db.transaction(async (tx) => {
    const app = await requireApp(tx, client_id)
    if (!app.suspended_at) return false
    await resumeApp(parts, tx, client_id)
    await recordAppAct(parts, tx, { ...by, act: 'app resume', app })
    return true
  })
}

async function requireApp(tx: Tx, client_id: string): Promise<AppOfClient> {
  const app = await findAppOfClient(tx, client_id)
  if (!app) throw new ApiError('not_found', { message: `There is no app ${client_id}.` })
  return app
}

async function recordAppAct(
  { clock }: OperatorParts,
  tx: Tx,
  { app, ...act }: By & { act: string; app: AppOfClient },
): Promise<void> {
  await recordAct(clock, tx, { ...act, subject: app.client_id, details: { name: app.name } })
}
