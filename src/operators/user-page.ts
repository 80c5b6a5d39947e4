// All that operators see of one account, in five bounded queries.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { showAccount } from './accounts.ts'
import { type AccountView } from './store.ts'
import {
  type AppRow,
  LIST_APPS_OF_DEVELOPER,
  LIST_USER_EVENTS,
  LIST_USER_KEYS,
  type MoneyRow,
  readMoney,
  type UserEventRow,
  type UserKeyRow,
} from './user-store.ts'

const SHOWN_MAX = 50
const EVENTS_SHOWN = 20

export type UserPage = {
  account: AccountView
  money: MoneyRow
  keys: UserKeyRow[]
  apps: AppRow[]
  events: UserEventRow[]
}

export async function readUserPage(
  parts: { db: Db; clock: Clock },
  account_id: string,
): Promise<UserPage> {
  const { db, clock } = parts
  const account = await showAccount(parts, account_id)
  const [money, keys, apps, events] = await Promise.all([
    readMoney(db, account.id, clock.now()),
    db.run(LIST_USER_KEYS, [account.id, SHOWN_MAX]),
    db.run(LIST_APPS_OF_DEVELOPER, [account.id, null, SHOWN_MAX]),
    db.run(LIST_USER_EVENTS, [account.id, EVENTS_SHOWN]),
  ])
  return { account, money, keys, apps, events }
}
