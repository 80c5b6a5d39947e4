// What operators do to apps.

import { findAppOfClient, resumeApp, suspendApp } from '../oauth/apps.ts'
import { ApiError } from '../platform/errors.ts'
import type { By, OperatorParts } from './accounts.ts'
import { recordAct } from './acts.ts'

/** False if it was suspended already. */
export async function suspendClient(
  parts: OperatorParts,
  client_id: string,
  by: By & { reason: string },
): Promise<boolean> {
  await recordAppAct(parts, { ...by, act: 'app suspend', subject: client_id })
  return await suspendApp(parts, client_id, by.reason)
}

/** False if it was not suspended. */
export async function resumeClient(
  parts: OperatorParts,
  client_id: string,
  by: By,
): Promise<boolean> {
  await recordAppAct(parts, { ...by, act: 'app resume', subject: client_id })
  return await resumeApp(parts, client_id)
}

async function recordAppAct(
  { db, clock }: OperatorParts,
  act: By & { act: string; subject: string },
): Promise<void> {
  const app = await findAppOfClient(db, act.subject)
  if (!app) throw new ApiError('not_found', { message: `There is no app ${act.subject}.` })
  await recordAct(clock, db, { ...act, details: { name: app.name } })
}
