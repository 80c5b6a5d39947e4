// What lasts while the stand-in runs. A reset makes a new world, new keys and new logs, and keeps the
// clock and where webhooks go.

import { type Clock, createClock } from './clock.ts'
import { createFaultScript, type FaultScript } from './fault-script.ts'
import { createKeyStore, type KeyStore } from './idempotency.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import { DEFAULT_SETTINGS, WebhookSender, type WebhookSettings } from './webhooks.ts'
import { createWorld, type World } from './world.ts'

export const DEFAULT_SEED = 'stripe'

export type StripeOptions = { seed?: string; webhooks?: Partial<WebhookSettings> }

export type State = {
  readonly clock: Clock
  readonly sender: WebhookSender
  readonly faults: FaultScript
  seed: string
  world: World
  keys: KeyStore
  log: RequestLog
}

export function createState({ seed = DEFAULT_SEED, webhooks = {} }: StripeOptions): State {
  const clock = createClock()
  const sender = new WebhookSender({ ...DEFAULT_SETTINGS, ...webhooks }, seed)
  return {
    clock,
    sender,
    faults: createFaultScript(),
    seed,
    world: createWorld({ clock, seed, onEvent: (event) => sender.add(event) }),
    keys: createKeyStore(() => clock.nowMs()),
    log: createRequestLog(),
  }
}

export function resetState(state: State, seed: string): void {
  state.world.schedule.stop()
  state.sender.clear()
  state.faults.clear()
  state.seed = seed
  state.world = createWorld({
    clock: state.clock,
    seed,
    onEvent: (event) => state.sender.add(event),
  })
  state.keys = createKeyStore(() => state.clock.nowMs())
  state.log = createRequestLog()
}
