// HTML from template strings. Whatever is put in is escaped, unless it is HTML itself.

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Html | readonly Html[]

export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  const parts = texts.map((text, at) => {
    const piece = pieces[at]
    return piece === undefined ? text : `${text}${render(piece)}`
  })
  return new Html(parts.join(''))
}

export const NOTHING = new Html('')

function render(piece: Piece): string {
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'object') return piece.map(({ text }) => text).join('\n')
  return String(piece)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** $1,234.50; other currencies by their code. */
export function formatMoney(cents: number, currency: string): string {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: currency.toUpperCase(),
  }).format(cents / 100)
}

export function formatDay(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}
