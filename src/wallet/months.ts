// Months of the book, in UTC. `month` is YYYY-MM everywhere: on the command line, in file names, in reports.

export type Month = string

export type Range = { from: Date; to: Date }

/** No line is posted after it. */
export const END_OF_TIME = new Date('9999-01-01T00:00:00Z')
const BEGINNING_OF_TIME = new Date(0)

export const ALL_TIME: Range = { from: BEGINNING_OF_TIME, to: END_OF_TIME }

export function isMonth(text: string): boolean {
  return /^\d{4}-(0[1-9]|1[0-2])$/.test(text)
}

export function monthOf(at: Date): Month {
  return at.toISOString().slice(0, 7)
}

export function rangeOf(month: Month): Range {
  const from = new Date(`${month}-01T00:00:00Z`)
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)) }
}

export function monthAfter(month: Month): Month {
  return monthOf(rangeOf(month).to)
}

/** As partitions are named. */
export function partitionOf(parent: string, month: Month): string {
  return `${parent}_y${month.replace('-', 'm')}`
}
