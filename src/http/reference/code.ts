// Code blocks of the pages, coloured on the server: one tokeniser serves JSON, event streams and
// shell commands, since the last two mostly carry JSON.
import { type Html, html } from '../html.ts'

export type CodeBlock = { readonly label: string; readonly text: string }

// The groups: string, the colon that makes it a key, shell string, variable, word, number.
const TOKEN = new RegExp(
  [
    /("(?:[^"\\\n]|\\.)*")(\s*:)?/,
    /('[^'\n]*')/,
    /(\$[A-Z][A-Z0-9_]*)/,
    /\b(true|false|null)\b/,
    /((?<![\w.-])-?\d+(?:\.\d+)?(?![\w-]))/,
  ]
    .map((token) => token.source)
    .join('|'),
  'g',
)

/** The block scrolls by itself; it takes focus so that a keyboard can scroll it too. */
export function renderCode({ label, text }: CodeBlock): Html {
  return html`<figure class="code"><figcaption>${label}</figcaption>
<pre tabindex="0" role="group" aria-label="${label}"><code>${highlight(text)}</code></pre></figure>`
}

export function renderJson(label: string, value: unknown): Html {
  return renderCode({ label, text: formatJson(value) })
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? ''
}

function highlight(text: string): readonly (Html | string)[] {
  const parts: (Html | string)[] = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, match.index), paint(match))
    end = match.index + match[0].length
  }
  parts.push(text.slice(end))
  return parts
}

function paint(match: RegExpExecArray): Html {
  const [whole, quoted, colon, shell, variable, word] = match
  if (quoted !== undefined && colon !== undefined) {
    return html`<span class="tk">${quoted}</span>${colon}`
  }
  if (quoted !== undefined || shell !== undefined) {
    return html`<span class="ts">${quoted ?? shell}</span>`
  }
  if (variable !== undefined) return html`<span class="tv">${whole}</span>`
  return html`<span class="${word === undefined ? 'tn' : 'tw'}">${whole}</span>`
}
