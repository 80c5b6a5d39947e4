// fast-check with the same cases in every run of `npm test`, so that a change is refused for what it does and never for
// the draw of that day. The long run draws new ones and prints the seed of what it finds.

import * as fc from 'fast-check'

const SEED = 20_260_701

if (process.env['SVC_LONG'] !== '1') fc.configureGlobal({ seed: SEED })

export * as fc from 'fast-check'
