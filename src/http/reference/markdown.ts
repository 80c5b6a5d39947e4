// The small part of Markdown that descriptions use: paragraphs, lists, headings, fenced code and,
// within a line, code, bold and links. Anything else stays text. A full parser would be a
// dependency that must be trusted with our markup, for seven constructs.

import { type Html, html } from '../html.ts'
import { renderCode } from './code.ts'

// Bounded repetition, so that no text can make the match slow.
const INLINE =
  /`([^`\n]{1,400})`|\*\*([^*\n]{1,400})\*\*|\[([^[\]\n]{1,200})\]\(([^()\s]{1,400})\)/g
const FENCE = /^```\s*([\w-]*)\s*$/
const HEADING = /^#{1,6}\s+(.+)$/
const BULLET = /^\s*[-*]\s+(.+)$/
const NUMBER = /^\s*\d{1,3}[.)]\s+(.+)$/

export function renderMarkdown(text: string): readonly Html[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: Html[] = []
  let at = 0
  while (at < lines.length) {
    const block = readBlock(lines, at)
    if (block.markup !== undefined) blocks.push(block.markup)
    at = block.next
  }
  return blocks
}

export function renderInline(text: string): readonly (Html | string)[] {
  const parts: (Html | string)[] = []
  let end = 0
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index), inlineMarkup(match))
    end = match.index + match[0].length
  }
  parts.push(text.slice(end))
  return parts
}

type Block = { readonly markup?: Html; readonly next: number }

function readBlock(lines: readonly string[], start: number): Block {
  const line = lines[start] ?? ''
  if (line.trim() === '') return { next: start + 1 }
  if (FENCE.test(line)) return readFence(lines, start)
  const heading = HEADING.exec(line)
  if (heading) return { markup: html`<h4>${renderInline(heading[1] ?? '')}</h4>`, next: start + 1 }
  if (BULLET.test(line)) return readList(lines, start, BULLET)
  if (NUMBER.test(line)) return readList(lines, start, NUMBER)
  return readParagraph(lines, start)
}

function readFence(lines: readonly string[], start: number): Block {
  const language = FENCE.exec(lines[start] ?? '')?.[1] ?? ''
  const close = lines.findIndex((line, index) => index > start && line.trim() === '```')
  const end = close === -1 ? lines.length : close
  const text = lines.slice(start + 1, end).join('\n')
  return { markup: renderCode({ label: language || 'Example', text }), next: end + 1 }
}

function readList(lines: readonly string[], start: number, marker: RegExp): Block {
  const items: string[] = []
  let at = start
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    const item = marker.exec(line)
    if (item) items.push(item[1] ?? '')
    else if (/^\s+\S/.test(line)) items.push(`${items.pop() ?? ''} ${line.trim()}`)
    else break
  }
  const entries = items.map((item) => html`<li>${renderInline(item)}</li>`)
  const markup = marker === NUMBER ? html`<ol>${entries}</ol>` : html`<ul>${entries}</ul>`
  return { markup, next: at }
}

function readParagraph(lines: readonly string[], start: number): Block {
  let end = start + 1
  while (end < lines.length && !startsBlock(lines[end] ?? '')) end += 1
  const text = lines.slice(start, end).join(' ')
  return { markup: html`<p>${renderInline(text)}</p>`, next: end }
}

function startsBlock(line: string): boolean {
  return line.trim() === '' || [FENCE, HEADING, BULLET, NUMBER].some((start) => start.test(line))
}

function inlineMarkup(match: RegExpExecArray): Html | string {
  const [whole, code, bold, label, address] = match
  if (code !== undefined) return html`<code>${code}</code>`
  if (bold !== undefined) return html`<strong>${bold}</strong>`
  if (label === undefined || address === undefined || !isSafeAddress(address)) return whole
  return html`<a href="${address}">${renderInline(label)}</a>`
}

// A list of what may pass, because `javascript:` has more spellings than one can forbid.
function isSafeAddress(address: string): boolean {
  return /^(?:https?:\/\/|mailto:|\/(?!\/)|#)/i.test(address)
}
