// What is under way just now, where something comes and goes with every request.
//
// Not a Set: a Set moves to a new table every few members, and each table that it leaves points to the next one. A
// minor collection takes what an old table points to for alive, so every member would survive its own end, with all
// that hangs on it. With a Set in its place a JSON call took 2.9 % more CPU (bench/README.md).

export type Place<Member> = { readonly member: Member; index: number }

export class OpenSet<Member> {
  readonly #places: Place<Member>[] = []

  get size(): number {
    return this.#places.length
  }

  /** As they are now: members may leave while the list is gone through. */
  members(): Member[] {
    return this.#places.map(({ member }) => member)
  }

  add(member: Member): Place<Member> {
    const place = { member, index: this.#places.length }
    this.#places.push(place)
    return place
  }

  /** Once for each. The last one takes its index. */
  remove(place: Place<Member>): void {
    const last = this.#places.pop()
    if (!last || last === place) return
    last.index = place.index
    this.#places[last.index] = last
  }
}
