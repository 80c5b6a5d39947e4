// The catalog as the settings want it: for the service, and for commands that need nothing else of it.

import { loadCatalog } from './catalog/catalog.ts'
import type { Catalog, RetirementRule } from './catalog/models.ts'
import type { Config } from './config.ts'
import type { Clock } from './platform/clock.ts'

export function openCatalog(config: Config, clock: Clock): Catalog {
  return loadCatalog({
    file: config.CATALOG_FILE,
    fee_bps: config.SERVICE_FEE_PERCENT,
    retirement_rule: retirementRule(config),
    clock,
  })
}

function retirementRule({ MODEL_SUCCESSORS, SVC_MODE }: Config): RetirementRule {
  if (MODEL_SUCCESSORS === 'on') return 'succeed'
  return SVC_MODE === 'live' ? 'refuse' : 'ignore'
}
