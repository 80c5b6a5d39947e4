// The tables of docs/compatibility.md: for each client format, what becomes of each field at each family of models.

import { ANTHROPIC_FIELDS } from '../src/gateway/dialects/anthropic/fields.ts'
import type { Fate, FieldRule, FieldTable } from '../src/gateway/dialects/field-rules.ts'
import { OPENAI_FIELDS } from '../src/gateway/dialects/openai/fields.ts'
import { RESPONSES_FIELDS } from '../src/gateway/dialects/responses/fields.ts'
import { FAMILIES, type Family } from '../src/gateway/upstreams/model-family.ts'

const TABLES: Readonly<Record<string, FieldTable>> = {
  openai: OPENAI_FIELDS,
  anthropic: ANTHROPIC_FIELDS,
  responses: RESPONSES_FIELDS,
}
const WORDS: Readonly<Record<Fate, string>> = {
  relay: 'relayed',
  translate: 'translated',
  ignore: '**ignored**',
  refuse: '**refused**',
}

/** Puts the table of a format between the two comments that name it. */
export function embedFieldTables(page: string): string {
  return page.replaceAll(
    /<!-- fields of (\w+) -->.*?<!-- \/fields -->/gs,
    (_, format: string) => `<!-- fields of ${format} -->\n${describeTable(format)}<!-- /fields -->`,
  )
}

function describeTable(format: string): string {
  const table = TABLES[format]
  if (table === undefined) throw new Error(`there is no format ${format}`)
  const names = Object.values(FAMILIES)
  const head = `| Field | ${names.join(' | ')} | Note |\n|---|${'---|'.repeat(names.length + 1)}\n`
  return head + table.rules.map((rule) => `${describeRule(rule)}\n`).join('')
}

function describeRule({ field, fates, note, hint }: FieldRule): string {
  const families = Object.keys(FAMILIES) as Family[]
  const words = families.map((family) => WORDS[fates[family]])
  return `| \`${field}\` | ${words.join(' | ')} | ${note ?? hint ?? ''} |`
}
