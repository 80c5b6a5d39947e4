// Makes the partitions of the days to come, and drops those of days that are no longer kept.

import type { Log } from '../../platform/log.ts'
import type { Job } from '../../platform/worker.ts'
import type { ResponseItems } from './items.ts'

const EVERY_MS = 3_600_000

export function responseItemsJob(parts: { response_items: ResponseItems; log: Log }): Job {
  return {
    name: 'gateway.response_items',
    every_ms: EVERY_MS,
    async run() {
      const changed = await parts.response_items.keepPartitions()
      const made = changed.filter((one) => !one.dropped).map((one) => one.partition_name)
      const dropped = changed.filter((one) => one.dropped).map((one) => one.partition_name)
      if (changed.length > 0) parts.log.info({ made, dropped }, 'partitions of response items')
    },
  }
}
