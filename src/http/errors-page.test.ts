import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertHarmless, attributes, poisonRow, unescape } from '../../test/support/markup.ts'
import { BASE_URL, errorRows } from '../../test/support/sample-document.ts'
import { renderErrors } from './errors-page.ts'

void test('hostile text in an error row stays text', () => {
  assertHarmless(renderErrors(errorRows.map(poisonRow)))
})

void test('every error code has one element with its id, which says what to do', () => {
  const markup = renderErrors(errorRows, { base_url: BASE_URL })
  for (const { code, message } of errorRows) {
    assert.equal(attributes(markup, 'id').filter((id) => id === code).length, 1)
    const section = markup.slice(markup.indexOf(`id="${code}"`)).split('</section>')[0] ?? ''
    assert.ok(section.includes(message))
    assert.match(section, /What to do<\/h4>\s*<p>[^<]/)
    assert.ok(unescape(section).includes(`${BASE_URL}/docs/errors#${code}`))
  }
})
