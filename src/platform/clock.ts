// Time as an argument: rules ask a Clock, so tests can stand still or travel.

export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

/** A clock that moves only when told to. */
export class FrozenClock implements Clock {
  #now: Date

  constructor(start: string | Date) {
    this.#now = new Date(start)
  }

  now(): Date {
    return new Date(this.#now)
  }

  advance(duration_ms: number): void {
    this.#now = new Date(this.#now.getTime() + duration_ms)
  }
}
