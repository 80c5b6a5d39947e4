// What tests look for in HTML: attributes, text behind entities, and that nothing hostile became markup.

import assert from 'node:assert/strict'
import type { ErrorRow } from '../../src/http/errors-page.ts'

export const HOSTILE = `<script>alert(1)</script><img src=x onerror='alert(2)'>" onclick="alert(3)`

export function attributes(markup: string, name: string): readonly string[] {
  return [...markup.matchAll(new RegExp(`<[^>]*?\\s${name}="([^"]*)"`, 'g'))].map(
    (match) => match[1] ?? '',
  )
}

export function assertHarmless(markup: string): void {
  assert.doesNotMatch(markup, /<(?:script|img)/i)
  // Whatever looks like a tag must be one that the templates write, with quoted attributes only.
  for (const [tag] of markup.slice(markup.indexOf('>') + 1).matchAll(/<[^>]*>/g)) {
    assert.match(tag, /^<\/?[a-z][a-z0-9]*(?:\s+(?:[a-z-]+="[^"<>]*"|open))*>$/)
    assert.doesNotMatch(tag, / on[a-z]+="/)
  }
}

export function poisonRow(row: ErrorRow): ErrorRow {
  return { code: row.code + HOSTILE, status: row.status, message: HOSTILE, explanation: HOSTILE }
}

export function unescape(markup: string): string {
  return markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
