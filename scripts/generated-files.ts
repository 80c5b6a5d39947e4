// The content of every generated file, by its path.

import { readFileSync } from 'node:fs'
import { EMBEDDING_MODELS } from '../src/catalog/embedding-models.ts'
import type { UpstreamModel } from '../src/catalog/models.ts'
import { CHAT_MODELS } from '../src/catalog/price-list.ts'
import { RETIREMENTS } from '../src/catalog/successors.ts'
import { describeSettings } from '../src/config.ts'
import { readDocument } from '../src/document.ts'
import { exampleEvent } from '../src/events/event-docs.ts'
import { EVENT_TYPE_NAMES, EVENT_TYPES, type EventType } from '../src/events/event-types.ts'
import { ERROR_CODES, errorEntry } from '../src/platform/errors.ts'
import { describeCoverage } from '../test/contract/spec.ts'
import { embedFieldTables } from './field-tables.ts'

export async function generatedFiles(): Promise<Record<string, string>> {
  return {
    '.env.example': describeSettings(),
    'docs/compatibility.md': embedFieldTables(readFileSync('docs/compatibility.md', 'utf8')),
    'docs/connect-an-app.md': embedFiles(readFileSync('docs/connect-an-app.md', 'utf8')),
    'docs/embeddings.md': embedEmbeddingModels(readFileSync('docs/embeddings.md', 'utf8')),
    'docs/errors.md': describeErrors(),
    'docs/models.md': embedModels(readFileSync('docs/models.md', 'utf8')),
    'docs/openapi.json': `${JSON.stringify(await readDocument(), null, 2)}\n`,
    'docs/spec-coverage.md': describeCoverage(),
    'docs/webhooks.md': embedEvents(embedFiles(readFileSync('docs/webhooks.md', 'utf8'))),
  }
}

function describeErrors(): string {
  const rows = ERROR_CODES.map((code) => {
    const { status, message, hint, explanation } = errorEntry(code)
    return `## ${code}\n\n**${status}** ${message}\n\n${explanation}\n${hint === undefined ? '' : `\n${hint}\n`}`
  })
  return `# Error codes\n\nGenerated from \`src/platform/errors.ts\` by \`npm run generate\`.\n\n${rows.join('\n')}`
}

/** Puts each file that a comment names into the code block after it. */
function embedFiles(page: string): string {
  return page.replaceAll(
    /<!-- (examples\/\S+\.ts) -->\n```ts\n.*?```\n/gs,
    (_, file: string) => `<!-- ${file} -->\n\`\`\`ts\n${readFileSync(file, 'utf8')}\`\`\`\n`,
  )
}

/** Puts the life cycle of the listed models between its two comments. */
function embedModels(page: string): string {
  const rows = CHAT_MODELS.map((model) => {
    const { retires_on = '', successor } = RETIREMENTS.get(model.name) ?? {}
    const then = successor ? [`\`${successor.upstream_id}\``, describePrices(successor)] : ['', '']
    const cells = [`\`${model.name}\``, describePrices(model), retires_on, ...then]
    return `| ${cells.join(' | ')} |\n`
  })
  const head = '| Name | Costs | Until | Then served by | at |\n|---|---|---|---|---|\n'
  return page.replace(
    /<!-- models -->.*<!-- \/models -->/s,
    () => `<!-- models -->\n${head}${rows.join('')}<!-- /models -->`,
  )
}

/** Puts the embedding models between their two comments. */
function embedEmbeddingModels(page: string): string {
  const rows = EMBEDDING_MODELS.map((model) => {
    const { name, price, dimensions, max_input_tokens } = model
    const cells = [`\`${name}\``, `$${Number(price) / 1_000_000}`, dimensions, max_input_tokens]
    return `| ${cells.map((cell) => cell.toLocaleString('en')).join(' | ')} |\n`
  })
  const head = '| Model | Costs | Dimensions | Tokens of a text |\n|---|---|---|---|\n'
  return page.replace(
    /<!-- embeddings -->.*<!-- \/embeddings -->/s,
    () => `<!-- embeddings -->\n${head}${rows.join('')}<!-- /embeddings -->`,
  )
}

function describePrices({ prices }: UpstreamModel): string {
  const listed = [prices.input, prices.cache_read, prices.output]
  return listed.map((credits) => `$${Number(credits) / 1_000_000}`).join(' / ')
}

/** Puts the catalogue of events between its two comments. */
function embedEvents(page: string): string {
  const rows = EVENT_TYPE_NAMES.map(
    (type) => `| [\`${type}\`](#${anchorOf(type)}) | ${EVENT_TYPES[type].summary} |`,
  )
  const chapters = EVENT_TYPE_NAMES.map(describeEvent)
  const table = `| Event | When |\n|---|---|\n${rows.join('\n')}\n`
  const text = `## Events\n\n${EVENTS_INTRODUCTION}\n\n${table}\n${chapters.join('\n')}`
  return page.replace(
    /<!-- events -->.*<!-- \/events -->/s,
    () => `<!-- events -->\n${text}<!-- /events -->`,
  )
}

const EVENTS_INTRODUCTION = `Every body has \`id\` (the same in every attempt), \`type\`, \`created_at\` and \`data\`; \`"test":true\` stands in events that you asked for.
Generated from \`src/events/event-types.ts\` by \`npm run generate\`.`

function describeEvent(type: EventType): string {
  const { data, summary } = EVENT_TYPES[type]
  const fields = Object.entries(data.properties).map(([name, schema]) => {
    const { type: kind, description = '' } = schema as { type: string; description?: string }
    return `| \`${name}\` | ${kind} | ${description} |`
  })
  const body = JSON.stringify(exampleEvent(type), null, 2)
  const table = `| Field of \`data\` | Type | Meaning |\n|---|---|---|\n${fields.join('\n')}`
  return `### ${type}\n\n${summary}\n\n${table}\n\n\`\`\`json\n${body}\n\`\`\`\n`
}

/** As GitHub makes them. */
function anchorOf(heading: string): string {
  return heading.replaceAll('.', '')
}
