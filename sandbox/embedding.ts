// Vectors for embeddings: the same text has the same one in every process. They say nothing of what
// the text means, only that it is this text.

import { createRandom } from './random.ts'

const STEPS = 2 ** 20

/**
 * The first values of the whole vector of a text, as providers shorten them. The whole vector has
 * length 1; a shorter one has it only when asked for.
 */
export function embedText(
  seed: string,
  size: { whole: number; wanted: number; normalized: boolean },
): number[] {
  const random = createRandom(seed)
  const whole = Array.from({ length: size.whole }, () => random.below(STEPS) / STEPS - 0.5)
  const values = whole.slice(0, size.wanted)
  const length = Math.hypot(...(size.normalized ? values : whole))
  // Providers compute in 32 bits, and so does the base64 form.
  return values.map((value) => Math.fround(value / length))
}
