// Every job of a process, by its role.

import { deleteClosedJob } from './accounts/closing/jobs.ts'
import { factorJobs } from './accounts/factors/jobs.ts'
import { accountJobs } from './accounts/jobs.ts'

import { lastSeenJob } from './accounts/last-seen.ts'
import { forgetSecurityEventsJob } from './accounts/security-log/jobs.ts'

import { signInJob } from './accounts/sign-in/jobs.ts'

import type { Parts } from './compose.ts'
import { accessEnder } from './end-access.ts'
import { forgetResultsJob } from './gateway/idempotency/jobs.ts'
import { modelWatchJob } from './gateway/model-watch.ts'
import { responseItemsJob } from './gateway/response-items/jobs.ts'
import { lastUsedJob } from './keys/last-used.ts'
import { oauthJobs } from './oauth/jobs.ts'
import { linkUsesJob } from './oauth/link-uses.ts'
import { readOpenEarnings } from './open-earnings.ts'
import { payoutJobs } from './payouts/jobs.ts'
import { forgetEventsJob } from './payouts/stripe-events.ts'
import type { Job } from './platform/worker.ts'
import { topupJobs } from './topups/jobs.ts'
import { failedCallsJob } from './usage/failed-calls.ts'
import { usageJobs } from './usage/jobs.ts'
import { postKeptJob, walletJobs } from './wallet/jobs.ts'
import { webhookJobs } from './webhooks/jobs.ts'

export function jobsOf(parts: Parts, wakeMailSender: () => void): Job[] {
  const { config, metrics } = parts
  const background = accountJobs({
    ...parts,
    public_url: config.PUBLIC_URL,
    onMail: (purpose, outcome) => metrics.mails.labels(purpose, outcome).inc(),
  })
  const own_node_id = parts.call_ledger.node_id
  return [
    postKeptJob(parts.call_ledger),
    ...(config.ROLE === 'worker'
      ? []
      : [
          lastUsedJob(parts.db, parts.last_used),
          lastSeenJob(parts.db, parts.last_seen),
          linkUsesJob(parts),
          failedCallsJob(parts.db, parts.failed_calls),
        ]),
    ...(config.ROLE === 'api'
      ? []
      : [
          ...background,
          deleteClosedJob({ ...parts, readOpenEarnings, endAccess: accessEnder(parts) }),
          forgetSecurityEventsJob(parts),
          ...factorJobs(parts),
          signInJob(parts),
          ...oauthJobs(parts),
          ...walletJobs({ ...parts, own_node_id }),
          ...webhookJobs({ ...parts, wakeMailSender }),
          ...topupJobs({ ...parts, wakeMailSender }),
          forgetEventsJob(parts),
          ...payoutJobs(parts),
          modelWatchJob(parts),
          forgetResultsJob(parts),
          responseItemsJob(parts),
          ...usageJobs({ ...parts, wakeMailSender }),
        ]),
  ]
}
