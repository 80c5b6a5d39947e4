import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unescape } from '../../test/support/markup.ts'
import { fc } from '../../test/support/same-cases.ts'
import { html, htmlText, raw } from './html.ts'

void test('html never lets a raw < of an interpolated string through', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string()), (text, list) => {
      const markup = htmlText(html`${text}${list}${html`${text}`}`)
      assert.doesNotMatch(markup, /[<>"']/)
      assert.equal(unescape(markup), text + list.join('') + text)
    }),
  )
})

void test('html passes its own markup through once, at any depth, and drops what is absent', () => {
  const inner = html`<b>${'a & b'}</b>`
  const outer = htmlText(html`<p>${[inner, [raw('<br>')]]}${false}${null}${undefined}${0}${7n}</p>`)
  assert.equal(outer, '<p><b>a &amp; b</b><br>07</p>')
})

void test('a text with dollar signs or backslashes comes out as it went in', () => {
  assert.equal(htmlText(html`a${'$& \\n $1'}b`), 'a$&amp; \\n $1b')
})
