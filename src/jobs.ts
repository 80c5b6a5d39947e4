// Every job of a process, by its role.

import { accountJobs } from './accounts/jobs.ts'
import { signInJob } from './accounts/sign-in/jobs.ts'
import type { Parts } from './compose.ts'
import { forgetResultsJob } from './gateway/idempotency/jobs.ts'
import { modelWatchJob } from './gateway/model-watch.ts'
import { lastUsedJob } from './keys/last-used.ts'
import { oauthJobs } from './oauth/jobs.ts'
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
      : [lastUsedJob(parts.db, parts.last_used), failedCallsJob(parts.db, parts.failed_calls)]),
    ...(config.ROLE === 'api'
      ? []
      : [
          ...background,
          signInJob(parts),
          ...oauthJobs(parts),
          ...walletJobs({ ...parts, own_node_id }),
          ...webhookJobs({ ...parts, wakeMailSender }),
          ...topupJobs({ ...parts, wakeMailSender }),
          forgetEventsJob(parts),
          ...payoutJobs(parts),
          modelWatchJob(parts),
          forgetResultsJob(parts),
          ...usageJobs({ ...parts, wakeMailSender }),
        ]),
  ]
}
