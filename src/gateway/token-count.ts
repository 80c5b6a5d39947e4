// How many tokens a text is, without a tokenizer, which would cost 40 to 70 MB and be quadratic on long runs
// without spaces: one linear pass. Characters fall into runs of one class, much as tokenizers cut; each run
// costs a part for itself and a part for each character. Rates are `close` for charging (within about 10 % on
// English, German, Chinese, code and JSON) or `safe` for holds: a little more than twice as much on such text, and
// still enough for what no tokenizer can shorten: random letters, base64, digits, and scripts of which it knows
// no more than the bytes. `cautious` is a little less than `close` on such text, and more on random letters.

export type Accuracy = 'close' | 'cautious' | 'safe'

/** Whether a tokenizer knows the words of many languages, as o200k and Gemini's do, or mostly English. */
export type Vocabulary = 'large' | 'small'

type Rate = readonly [run: number, character: number]

type ClassRates = { close: Rate; safe: Rate; small?: { close: Rate; safe: Rate } }

/**
 * In hundredths of a token. `close` is fitted against o200k on prose in thirty languages, code and JSON, and for small
 * vocabularies against cl100k. `safe` is above o200k and Gemma's tokenizer on random strings of each class, and for
 * small vocabularies above cl100k and what is published of Claude's. Characters of three bytes can cost three tokens.
 */
const RATES = {
  space: { close: [100, 0], safe: [92, 8] },
  tab: { close: [100, 0], safe: [87, 13] },
  line_break: { close: [60, 0], safe: [93, 7] },
  carriage_return: { close: [0, 0], safe: [0, 100] },
  small_letter: {
    close: [100, 14],
    safe: [115, 70],
    small: { close: [100, 20], safe: [115, 70] },
  },
  capital: {
    close: [100, 14],
    safe: [115, 80],
    small: { close: [100, 20], safe: [115, 80] },
  },
  /** Letters of two bytes in Latin words: those of western Europe, and all others. */
  western_letter: {
    close: [100, 85],
    safe: [115, 130],
    small: { close: [100, 170], safe: [115, 150] },
  },
  latin_letter: {
    close: [100, 120],
    safe: [115, 235],
    small: { close: [100, 210], safe: [115, 235] },
  },
  /** Gemini counts each digit. */
  digit: { close: [78, 33], safe: [24, 91] },
  sign: { close: [32, 30], safe: [40, 75] },
  quote: { close: [32, 30], safe: [0, 130] },
  control: { close: [0, 100], safe: [0, 150] },
  cyrillic: { close: [50, 23], safe: [20, 110], small: { close: [50, 48], safe: [20, 132] } },
  alphabet: { close: [60, 30], safe: [20, 130], small: { close: [50, 92], safe: [20, 155] } },
  rare_alphabet: { close: [20, 35], safe: [0, 200], small: { close: [0, 190], safe: [0, 200] } },
  indic: { close: [40, 32], safe: [0, 170], small: { close: [0, 130], safe: [0, 210] } },
  kana: { close: [10, 72], safe: [0, 180], small: { close: [0, 105], safe: [0, 200] } },
  ideograph: { close: [10, 74], safe: [0, 205], small: { close: [0, 116], safe: [0, 240] } },
  hangul: { close: [20, 60], safe: [0, 255], small: { close: [0, 110], safe: [0, 265] } },
  box: { close: [0, 100], safe: [0, 200] },
  /** Of three bytes: scripts that only large vocabularies know, and what none knows. */
  scarce: { close: [20, 45], safe: [0, 215], small: { close: [0, 200], safe: [0, 300] } },
  rare: { close: [0, 110], safe: [0, 300], small: { close: [0, 210], safe: [0, 300] } },
  /** Half of a character of four bytes. */
  surrogate: { close: [0, 100], safe: [0, 200], small: { close: [0, 130], safe: [0, 200] } },
} as const satisfies Record<string, ClassRates>

type Class = keyof typeof RATES

const NAMES: readonly string[] = Object.keys(RATES)
const LETTERS = ['small_letter', 'capital', 'western_letter', 'latin_letter']
/** A space belongs to the word or the sign after it; in front of anything else it may be a token. */
const TAKES_SPACE = [...LETTERS, 'sign', 'quote']

/** The first character of each range of one class, and its class; a range ends where the next begins. */
const RANGES: readonly (readonly [first: number, of: Class])[] = [
  [0x00, 'control'],
  [0x20, 'space'],
  [0x21, 'sign'],
  [0x30, 'digit'],
  [0x3a, 'sign'],
  [0x41, 'capital'],
  [0x5b, 'sign'],
  [0x61, 'small_letter'],
  [0x7b, 'sign'],
  [0x7f, 'control'],
  [0xa0, 'quote'],
  [0xc0, 'western_letter'],
  [0x100, 'latin_letter'],
  [0x250, 'rare_alphabet'],
  [0x386, 'alphabet'],
  [0x3cf, 'rare_alphabet'],
  [0x400, 'cyrillic'],
  [0x460, 'rare_alphabet'],
  [0x5d0, 'alphabet'],
  [0x5eb, 'rare_alphabet'],
  [0x621, 'alphabet'],
  [0x653, 'rare_alphabet'],
  [0x800, 'rare'],
  [0x900, 'indic'],
  [0xa00, 'scarce'],
  [0xb80, 'indic'],
  [0xe80, 'scarce'],
  [0xf00, 'rare'],
  [0x1000, 'scarce'],
  [0x1100, 'rare'],
  [0x1780, 'scarce'],
  [0x1800, 'rare'],
  [0x1ea0, 'latin_letter'],
  [0x1f00, 'rare'],
  [0x2500, 'box'],
  [0x2600, 'rare'],
  [0x3000, 'kana'],
  [0x3100, 'rare'],
  [0x4e00, 'ideograph'],
  [0xa000, 'rare'],
  [0xac00, 'hangul'],
  [0xd7a4, 'rare'],
  [0xd800, 'surrogate'],
  [0xe000, 'rare'],
  [0xff01, 'kana'],
  [0xff5f, 'ideograph'],
  [0xfff0, 'rare'],
]

const ALONE: readonly (readonly [characters: string, of: Class])[] = [
  ['\t', 'tab'],
  ['\n', 'line_break'],
  ['\r', 'carriage_return'],
  ['‐‑–—‘’“”•…→', 'quote'],
]

/** The class of each UTF-16 unit. */
const CLASSES = classTable()

/**
 * A state is the class of the last character and how long its run is so far: what the next character costs is then
 * one look into a table. With loops and branches in its place a megabyte took twice as long.
 */
type Scale = { cost: Int32Array; next: Uint16Array; start: number; single_space: number }

/** Runs that are longer go on as this long. */
const LENGTHS = 7

/** What does not depend on one class: in hundredths of a token, too. */
type Habits = {
  /** Letters at the beginning of a word that cost no more than the word itself. */
  free_letters: number
  /** A word that begins inside another, as in `parseJson`. */
  inner_word: number
  single_space: number
}

const CLOSE: Habits = { free_letters: 6, inner_word: 0, single_space: 0 }
const CAUTIOUS: Habits = { free_letters: 2, inner_word: 24, single_space: 0 }
const SAFE: Habits = { free_letters: 2, inner_word: 60, single_space: 100 }

const CAUTIOUS_PERCENT_OF_SAFE = 40

const SCALES: Record<Accuracy, Record<Vocabulary, Scale>> = {
  close: {
    large: scaleOf(({ close }) => close, CLOSE),
    small: scaleOf(({ close, small }) => small?.close ?? close, CLOSE),
  },
  cautious: {
    large: scaleOf(({ close, safe }, name) => cautiousRate(name, { close, safe }), CAUTIOUS),
    small: scaleOf(
      ({ close, safe, small }, name) => cautiousRate(name, small ?? { close, safe }),
      CAUTIOUS,
    ),
  },
  safe: {
    large: scaleOf(({ safe }) => safe, SAFE),
    small: scaleOf(({ safe, small }) => small?.safe ?? safe, SAFE),
  },
}

export function estimateTokens(
  text: string,
  accuracy: Accuracy,
  vocabulary: Vocabulary = 'large',
): number {
  const { cost, next, start, single_space } = SCALES[accuracy][vocabulary]
  const { length } = text
  let hundredths = 0
  let state = start
  for (let index = 0; index < length; index++) {
    const step = state + (CLASSES[text.charCodeAt(index)] ?? 0)
    hundredths += cost[step] ?? 0
    state = next[step] ?? 0
  }
  if (text.endsWith(' ')) hundredths += single_space
  return Math.ceil(hundredths / 100)
}

type RateOf = (rates: ClassRates, name: string) => Rate

/** Only English letters can make words that a tokenizer does not know, and look like those it does. */
function cautiousRate(name: string, { close, safe }: { close: Rate; safe: Rate }): Rate {
  if (name !== 'small_letter' && name !== 'capital') return close
  const [run, character] = safe
  return [(run * CAUTIOUS_PERCENT_OF_SAFE) / 100, (character * CAUTIOUS_PERCENT_OF_SAFE) / 100]
}

function scaleOf(rateOf: RateOf, habits: Habits): Scale {
  const rates = Object.entries<ClassRates>(RATES).map(([name, of]) => rateOf(of, name))
  const letter = rateOf(RATES.small_letter, 'small_letter')[1]
  const width = NAMES.length
  const cost = new Int32Array(width * LENGTHS * width)
  const next = new Uint16Array(cost.length)
  const stateOf = (of: number, length: number) => (of * LENGTHS + length - 1) * width
  for (const [from, before] of NAMES.entries()) {
    for (let length = 1; length <= LENGTHS; length++) {
      for (const [to, after] of NAMES.entries()) {
        const at = stateOf(from, length) + to
        const run_length = continuesRun(before, after) ? Math.min(length + 1, LENGTHS) : 1
        const step = { before, length, after, run_length, rate: rates[to] ?? [0, 0], letter }
        next[at] = stateOf(to, run_length)
        cost[at] = stepCost(step, habits)
      }
    }
  }
  const start = stateOf(NAMES.indexOf('line_break'), 1)
  return { cost, next, start, single_space: habits.single_space }
}

/** A word goes on through letters of any kind until a capital follows a small one: `parseJson` is two. */
function continuesRun(before: string, after: string): boolean {
  if (before === after) return true
  return LETTERS.includes(before) && LETTERS.includes(after) && after !== 'capital'
}

type Step = {
  before: string
  length: number
  after: string
  run_length: number
  rate: Rate
  /** What a letter costs that is free at the beginning of a word. */
  letter: number
}

function stepCost(step: Step, habits: Habits): number {
  const { before, length, after, run_length, letter } = step
  const [run, character] = step.rate
  const begins = run_length === 1
  // What one space costs is known when the next character is.
  if (after === 'space') return begins ? 0 : character + (length === 1 ? run + character : 0)
  const plain = character + (begins ? run : 0)
  const follows_one_space = before === 'space' && length === 1
  if (!LETTERS.includes(after)) {
    const is_alone = follows_one_space && !TAKES_SPACE.includes(after)
    return plain + (is_alone ? habits.single_space : 0)
  }
  const is_free = run_length <= habits.free_letters
  const is_inner = begins && LETTERS.includes(before)
  return plain - (is_free ? letter : 0) + (is_inner ? habits.inner_word : 0)
}

function classTable(): Uint8Array {
  const classes = new Uint8Array(0x10000)
  for (const [first, of] of RANGES) classes.fill(NAMES.indexOf(of), first)
  for (const [characters, of] of ALONE) {
    for (const character of characters) classes[character.charCodeAt(0)] = NAMES.indexOf(of)
  }
  return classes
}
