// The metrics of a cluster as one answer, whichever of its processes is asked. The parent asks every child and adds up;
// a child that is asked from outside gets the sum from its parent. The parent keeps the counts of children that ended: to
// Prometheus a sum that falls is a restart, and rate() would count all of it again. prom-client's own clusterMetrics()
// fails as a whole when one child is late, and knows neither the parent nor children that ended.

import cluster, { type Worker as Child } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'
import { AggregatorRegistry, Gauge, Registry } from 'prom-client'
import { ApiError } from './platform/errors.ts'

/** How long the parent waits for a child. */
const CHILD_ANSWER_MS = 1_000
/** How long a child waits for its parent, which waits for the slowest child. */
const PARENT_ANSWER_MS = 3_000
/** How long a child that stops may take to hand over its counts. */
const LEAVE_MS = 1_000

export type SharedMetrics = {
  /** The text of /metrics. */
  read(): Promise<string>
  /** The last step of a stop. */
  leave(): Promise<void>
}

/** What `getMetricsAsJSON` answers, as far as it is read here. */
type Values = readonly { readonly type: unknown }[]

type Message =
  /** To a child: what have you counted? To the parent: what have all of us counted? */
  | { metrics: 'wanted'; id: number }
  /** From a child; without an id it is its last word. */
  | { metrics: 'own'; id?: number; values: Values }
  /** From the parent. */
  | { metrics: 'all'; id: number; text: string }

/** Of a process that stands alone. */
export function ownMetrics(own: Registry): SharedMetrics {
  return { read: () => own.metrics(), leave: async () => {} }
}

/** Of a child: answers its parent, and asks it. */
export function metricsOfChild(own: Registry): SharedMetrics {
  const questions = new Questions<string>()
  const tellOwn = async (id?: number) => {
    const values = await own.getMetricsAsJSON()
    await tellParent({ metrics: 'own', values, ...(id !== undefined && { id }) })
  }
  process.on('message', (message: unknown) => {
    if (!isMessage(message)) return
    // A child that cannot answer counts as silent.
    if (message.metrics === 'wanted') tellOwn(message.id).catch(() => {})
    if (message.metrics === 'all') questions.answer(message.id, message.text)
  })
  return {
    async read() {
      const ask = (id: number) => void tellParent({ metrics: 'wanted', id })
      const text = await questions.ask(ask, PARENT_ANSWER_MS)
      if (text !== undefined) return text
      // Its own counts alone would look like a sum that fell.
      throw new ApiError('service_unavailable', { detail: 'the parent gave no metrics in time' })
    },
    leave: () => Promise.race([tellOwn(), wait(LEAVE_MS, undefined, { ref: false })]),
  }
}

/** Resolves when the message is on its way, or cannot be sent. */
function tellParent(message: Message): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}

type Member = { child: Child; latest: Values }

/** Of the parent. */
export class ClusterMetrics {
  /** Of the parent itself, if it works too. */
  #own: Registry | undefined
  readonly #registry = new Registry()
  readonly #children = new Gauge({
    name: 'svc_cluster_children',
    help: 'Children by what they did when they were asked for these metrics: answered, silent. Of a silent one the counters stand as it told them last.',
    labelNames: ['state'] as const,
    registers: [this.#registry],
  })
  readonly #questions = new Questions<'answered'>()
  readonly #members = new Map<number, Member>()
  #ended: Values = []
  #reading: Promise<string> | undefined

  constructor() {
    cluster.on('message', (child, message: unknown) => {
      if (isMessage(message)) this.#hear(child, message)
    })
    // Nothing that a child sent comes after this; its exit may be noticed earlier.
    cluster.on('disconnect', (child) => this.#remember(child))
  }

  include(own: Registry): void {
    this.#own = own
  }

  /** From now on the child is asked. One that still starts would make flags such as trust look bad. */
  admit(child: Child): void {
    if (child.isConnected()) {
      this.#members.set(child.id, { child, latest: [] })
    }
  }

  /** Those who ask at the same time get the same answer. */
  read(): Promise<string> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAll(): Promise<string> {
    const asked = [...this.#members.values()]
    const states = new Map<Member, 'answered' | 'silent'>()
    await Promise.all(
      asked.map(async (member) => states.set(member, (await this.#ask(member)) ?? 'silent')),
    )
    const own = (await this.#own?.getMetricsAsJSON()) ?? []
    // Those of now: a child that ended meanwhile is among the ended.
    const members = [...this.#members.values()].filter((member) => states.has(member))
    const silent = members.filter((member) => states.get(member) === 'silent')
    this.#children.set({ state: 'answered' }, members.length - silent.length)
    this.#children.set({ state: 'silent' }, silent.length)
    const told = members.map((member) =>
      silent.includes(member) ? counts(member.latest) : member.latest,
    )
    const about_children = await this.#registry.getMetricsAsJSON()
    return await AggregatorRegistry.aggregate([own, about_children, this.#ended, ...told]).metrics()
  }

  #ask({ child }: Member): Promise<'answered' | undefined> {
    const ask = (id: number) => tellChild(child, { metrics: 'wanted', id })
    return this.#questions.ask(ask, CHILD_ANSWER_MS)
  }

  #hear(child: Child, message: Message): void {
    if (message.metrics === 'wanted') {
      const answer = (text: string) => tellChild(child, { metrics: 'all', id: message.id, text })
      // Without an answer the child says that it has none.
      this.read().then(answer, () => {})
    }
    const member = this.#members.get(child.id)
    if (message.metrics !== 'own' || !member) return
    member.latest = message.values
    if (message.id !== undefined) this.#questions.answer(message.id, 'answered')
  }

  #remember(child: Child): void {
    const member = this.#members.get(child.id)
    if (!member) return
    this.#members.delete(child.id)
    const both = AggregatorRegistry.aggregate([[...this.#ended], counts(member.latest)])
    this.#ended = both.getMetricsAsArray()
  }
}

/** What only grows. The rest describes a moment, and is worth nothing when that is over. */
function counts(values: Values): Values {
  return values.filter(({ type }) => type !== 'gauge')
}

/** With a callback, so that a child that has gone is no error. */
function tellChild(child: Child, message: Message): void {
  child.send(message, () => {})
}

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message
}

/** Questions to another process that are open, each for a limited time. */
class Questions<Answer> {
  readonly #open = new Map<number, (answer: Answer) => void>()
  #count = 0

  /** undefined if there was no answer in time. */
  async ask(send: (id: number) => void, limit_ms: number): Promise<Answer | undefined> {
    const id = ++this.#count
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
    const limit = setTimeout(() => resolve(undefined), limit_ms)
    this.#open.set(id, resolve)
    send(id)
    try {
      return await promise
    } finally {
      clearTimeout(limit)
      this.#open.delete(id)
    }
  }

  answer(id: number, answer: Answer): void {
    this.#open.get(id)?.(answer)
  }
}
