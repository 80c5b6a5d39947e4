// Sends events to the product, signed as Stripe signs them: one at a time and in order, with a few
// retries. A test may hold them back, and let them go twice or in another order.

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.ts'
import type { Event } from './objects.ts'

const MAX_WAITING = 20_000
const MAX_DELIVERIES = 20_000
const ATTEMPTS = 5
const FIRST_PAUSE_MS = 50
const TIMEOUT_MS = 10_000

export type WebhookSettings = {
  /** Null: events are kept and go nowhere. */
  url: string | null
  /** Where events of connected accounts go; null means to the same address. */
  connect_url: string | null
  secret: string
  connect_secret: string
  /** Types to send; `*` is all of them, `transfer.*` all of one kind. */
  events: readonly string[]
  hold: boolean
  /** How often each event is sent. */
  copies: number
}

export const DEFAULT_SETTINGS: WebhookSettings = {
  url: null,
  connect_url: null,
  secret: 'whsec_sandbox_account',
  connect_secret: 'whsec_sandbox_connect',
  events: ['*'],
  hold: false,
  copies: 1,
}

export type Delivery = {
  event: string
  type: string
  account: string | null
  url: string
  state: 'waiting' | 'delivered' | 'failed' | 'dropped'
  /** The product's status each time; 0 when there was no answer. */
  statuses: number[]
}
export type SendWish = { age_s?: number; secret?: string; body?: string }
export type Order = 'as_made' | 'reversed' | 'shuffled'

type Waiting = { event: Event; delivery: Delivery }

export class WebhookSender {
  settings: WebhookSettings
  readonly #seed: string
  readonly #stopped = new AbortController()
  readonly #deliveries = new Map<number, Delivery>()
  #waiting: Waiting[] = []
  #count = 0
  /** Events of the batch that is under way and not yet sent. */
  #left = 0
  /** Counts the times that everything was forgotten. */
  #generation = 0
  #pump: Promise<void> | undefined

  constructor(settings: WebhookSettings, seed: string) {
    this.settings = settings
    this.#seed = seed
  }

  add(event: Event): void {
    for (let copy = 0; copy < this.settings.copies; copy += 1) this.#enqueue(event)
    this.#start()
  }

  /** Lets held events go, in the order that is wanted. */
  release(order: Order, copies: number): number {
    const held = this.#waiting.flatMap((item) => Array.from({ length: copies }, () => item))
    if (order === 'reversed') held.reverse()
    if (order === 'shuffled') shuffle(held, this.#seed)
    this.#waiting = held
    this.settings = { ...this.settings, hold: false }
    this.#start()
    return held.length
  }

  /** One attempt, now, past the queue. Answers the product's status; 0 when there was none. */
  async send(event: Event, wish: SendWish = {}): Promise<number> {
    const url = this.#urlOf(event)
    if (url === null) return 0
    const secret = wish.secret ?? this.#secretOf(event)
    // Stripe's bodies are indented; a receiver that parses and re-writes them fails the signature.
    const body = wish.body ?? JSON.stringify(event, null, 2)
    // By the real clock: the receiver judges the age by its own.
    const at = Math.floor(Date.now() / 1000) - (wish.age_s ?? 0)
    return await this.#post(url, body, signHeader(secret, at, body))
  }

  deliveries(): readonly Delivery[] {
    return [...this.#deliveries.values()]
  }

  waiting(): number {
    return this.#waiting.length + this.#left
  }

  /** Resolves when everything that may go has gone. */
  async idle(): Promise<void> {
    while (this.#pump !== undefined) await this.#pump
  }

  /** Forgets what waits and what was sent. */
  clear(): void {
    this.#generation += 1
    this.#waiting = []
    this.#deliveries.clear()
  }

  stop(): void {
    this.clear()
    this.#stopped.abort()
  }

  #enqueue(event: Event): void {
    const url = this.#urlOf(event)
    if (url === null || !this.#isWanted(event.type)) return
    const delivery: Delivery = {
      event: event.id,
      type: event.type,
      account: event.account ?? null,
      url,
      state: this.#waiting.length < MAX_WAITING ? 'waiting' : 'dropped',
      statuses: [],
    }
    this.#count += 1
    this.#deliveries.set(this.#count, delivery)
    if (this.#deliveries.size > MAX_DELIVERIES) {
      this.#deliveries.delete(this.#count - MAX_DELIVERIES)
    }
    if (delivery.state === 'waiting') this.#waiting.push({ event, delivery })
  }

  #start(): void {
    if (this.#pump !== undefined || this.settings.hold || this.#waiting.length === 0) return
    this.#pump = this.#run().finally(() => {
      this.#pump = undefined
      this.#start()
    })
  }

  async #run(): Promise<void> {
    // Whole batches are taken off, so that a long queue is not moved for every event.
    while (!this.settings.hold && this.#waiting.length > 0) {
      const batch = this.#waiting
      const generation = this.#generation
      this.#waiting = []
      for (const [at, item] of batch.entries()) {
        if (generation !== this.#generation) break
        this.#left = batch.length - at
        if (this.settings.hold) {
          this.#waiting = [...batch.slice(at), ...this.#waiting]
          break
        }
        await this.#deliver(item)
      }
      this.#left = 0
    }
  }

  async #deliver({ event, delivery }: Waiting): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (attempt > 0) await this.#pause(FIRST_PAUSE_MS * 2 ** attempt)
      if (this.#stopped.signal.aborted) return
      const status = await this.send(event)
      delivery.statuses.push(status)
      if (status >= 200 && status < 300) {
        delivery.state = 'delivered'
        return
      }
    }
    delivery.state = 'failed'
  }

  async #post(url: string, body: string, signature: string): Promise<number> {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'stripe-signature': signature,
          'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
        },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      await response.arrayBuffer()
      return response.status
    } catch {
      return 0
    }
  }

  async #pause(duration_ms: number): Promise<void> {
    await sleep(duration_ms, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
  }

  #urlOf(event: Event): string | null {
    const { url, connect_url } = this.settings
    return event.account === undefined ? url : (connect_url ?? url)
  }

  #secretOf(event: Event): string {
    return event.account === undefined ? this.settings.secret : this.settings.connect_secret
  }

  #isWanted(type: string): boolean {
    return this.settings.events.some(
      (wanted) =>
        wanted === '*' ||
        wanted === type ||
        (wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1))),
    )
  }
}

/** Test mode adds a scheme that means nothing: a receiver must not accept it. */
function signHeader(secret: string, at: number, body: string): string {
  const hash = (key: string) => createHmac('sha256', key).update(`${at}.${body}`).digest('hex')
  return `t=${at},v1=${hash(secret)},v0=${hash('v0')}`
}

function shuffle<Item>(items: Item[], seed: string): void {
  const random = createRandom(`${seed}/shuffle`)
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1)
    const [one, two] = [items[at], items[other]]
    if (one === undefined || two === undefined) continue
    items[at] = two
    items[other] = one
  }
}
