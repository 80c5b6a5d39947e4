// Notices where a JSON object that arrives in pieces ends, reading each character once.

export class ObjectEnd {
  /** Whether the object is whole: nothing but white space can follow. */
  reached = false
  #depth = 0
  #quoted = false
  #escaped = false

  read(fragment: string): void {
    for (const character of fragment) {
      if (this.reached) return
      if (this.#quoted) this.#readQuoted(character)
      else this.#readPlain(character)
    }
  }

  #readQuoted(character: string): void {
    if (this.#escaped) this.#escaped = false
    else if (character === '\\') this.#escaped = true
    else if (character === '"') this.#quoted = false
  }

  #readPlain(character: string): void {
    if (character === '"') this.#quoted = true
    else if (character === '{' || character === '[') this.#depth += 1
    else if (character === '}' || character === ']') {
      this.#depth -= 1
      this.reached = this.#depth <= 0
    }
  }
}
