// Which known name somebody may have meant who sent one that is not known.

/** Longer names are cut: the cost of a comparison grows with the product of both lengths. */
const COMPARED_MAX = 64
/** Of the longer of both: beyond it they have nothing to do with each other. */
const DIFFERENT_SHARE = 0.45
/** What shares this much of its beginning is of the same family, however it goes on. */
const FAMILY_PREFIX = 8

/** `known`: every name that may be meant, with what to answer for it. */
export function nearestName(
  given: string,
  known: Iterable<readonly [name: string, answer: string]>,
): string | undefined {
  const wanted = plain(given)
  const compared = new Set<string>()
  let best: { answer: string; rank: number } | undefined
  for (const [name, answer] of known) {
    const candidate = plain(name)
    // Most aliases differ in their prefix only.
    if (compared.has(candidate)) continue
    compared.add(candidate)
    const rank = rankOf(wanted, candidate)
    if (rank !== undefined && (!best || rank < best.rank)) best = { answer, rank }
  }
  return best?.answer
}

/** The lower the nearer; undefined: not near at all. */
function rankOf(wanted: string, name: string): number | undefined {
  const distance = editDistance(wanted, name)
  const longer = Math.max(wanted.length, name.length)
  if (distance <= longer * DIFFERENT_SHARE) return distance
  const shared = sharedPrefix(wanted, name)
  return shared >= FAMILY_PREFIX ? COMPARED_MAX + distance - shared : undefined
}

/** Without what people vary: case, the provider before a slash, and which sign stands between two parts. */
function plain(name: string): string {
  const cut = name.slice(-COMPARED_MAX).toLowerCase()
  return cut.slice(cut.lastIndexOf('/') + 1).replaceAll(/[._:@ ]/g, '-')
}

function sharedPrefix(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}

/** Levenshtein's, in one row. */
function editDistance(one: string, other: string): number {
  const row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    let diagonal = i - 1
    row[0] = i
    for (let j = 1; j <= other.length; j++) {
      const above = row[j] ?? 0
      const changed = diagonal + (one[i - 1] === other[j - 1] ? 0 : 1)
      row[j] = Math.min(above + 1, (row[j - 1] ?? 0) + 1, changed)
      diagonal = above
    }
  }
  return row[other.length] ?? 0
}
