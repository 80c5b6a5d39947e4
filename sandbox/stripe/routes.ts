// Every endpoint of the API that the stand-in has. Those that load tests use most come first.

import { ACCOUNT_LINK_ROUTES } from './account-links.ts'
import { ACCOUNT_ROUTES } from './accounts.ts'
import { CHECKOUT_ROUTES } from './checkout-sessions.ts'
import { CUSTOMER_ROUTES } from './customers.ts'
import { DISPUTE_ROUTES } from './disputes.ts'
import { PAYMENT_INTENT_ROUTES } from './payment-intents.ts'
import { PLATFORM_ROUTES } from './platform-routes.ts'
import { REFUND_ROUTES } from './refunds.ts'
import type { Route } from './route.ts'
import { TRANSFER_ROUTES } from './transfers.ts'

export const ROUTES: readonly Route[] = [
  ...TRANSFER_ROUTES,
  ...ACCOUNT_ROUTES,
  ...ACCOUNT_LINK_ROUTES,
  ...CHECKOUT_ROUTES,
  ...CUSTOMER_ROUTES,
  ...PAYMENT_INTENT_ROUTES,
  ...REFUND_ROUTES,
  ...DISPUTE_ROUTES,
  ...PLATFORM_ROUTES,
]
