// Which rows of usage_hour answer a question: the migration that makes the table says what its grains are.

const ALL_CALLS = [0]
const BY_KEY = [1, 2]
const BY_USER = [1, 3]
const HOUR_TO_DAY = 4

/** Together they have each call once, with no more detail than is asked for. */
export function grainsFor(asked: { by_key: boolean; by_user: boolean }): readonly number[] {
  if (asked.by_user) return BY_USER
  return asked.by_key ? BY_KEY : ALL_CALLS
}

/** The same by the day. */
export function byDay(grain: number): number {
  return grain + HOUR_TO_DAY
}
