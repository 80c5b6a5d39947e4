// Model families own their hues everywhere, in charts and in lists; a cheaper sister has the second shade.

const FAMILIES = [
  ['openai', /^(?:openai\/|gpt-|o\d)/],
  ['anthropic', /^(?:anthropic\/|claude-)/],
  ['google', /^(?:google\/|gemini-)/],
  ['elevenlabs', /^(?:elevenlabs\/|eleven_|scribe_)/],
] as const
const CHEAPER = /mini|nano|haiku|flash|turbo|lite|scribe/

/** For things that are no models: far apart from their neighbours. */
const ROW = [
  'openai',
  'anthropic',
  'google',
  'elevenlabs',
  'openai-2',
  'anthropic-2',
  'google-2',
  'elevenlabs-2',
] as const

export const OTHER_COLOR = 'var(--other)'

export function colorOfModel(model: string): string {
  const family = FAMILIES.find(([, pattern]) => pattern.test(model))?.[0]
  if (!family) return OTHER_COLOR
  return CHEAPER.test(model) ? `var(--${family}-2)` : `var(--${family})`
}

/** Sisters of one family stand beside each other in a chart: each has a shade of its own, as far as shades reach. */
const SHADES: readonly ((color: string) => string)[] = [
  (color) => color,
  (color) => `color-mix(in oklch, ${color}, var(--ink) 35%)`,
  (color) => `color-mix(in oklch, ${color}, var(--paper) 35%)`,
]

/** Of the models of one chart. */
export function colorsOfModels(models: readonly string[]): ReadonlyMap<string, string> {
  const used = new Set<string>()
  const colors = models.map((model) => {
    const shades = SHADES.map((shade) => shade(colorOfModel(model)))
    const color = shades.find((shade) => !used.has(shade)) ?? OTHER_COLOR
    used.add(color)
    return [model, color] as const
  })
  return new Map(colors)
}

export function colorAt(place: number): string {
  return `var(--${ROW[place % ROW.length]})`
}
