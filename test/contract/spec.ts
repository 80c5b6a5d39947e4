// Every statement of the specification with the tests that show it. docs/spec-coverage.md is written from this, and
// coverage.test.ts holds it to the tests.

import { AUTHENTICATION } from './spec/authentication.ts'
import { ENDPOINTS_CHAPTER } from './spec/endpoints.ts'
import { ERRORS_CHAPTER } from './spec/errors.ts'
import { EVENTS_CHAPTER } from './spec/events.ts'
import { LIMITS, VERSIONING } from './spec/limits.ts'
import { OVERVIEW } from './spec/overview.ts'
import { RESOURCES } from './spec/resources.ts'
import { STATES } from './spec/states.ts'

const CHAPTERS = [
  OVERVIEW,
  RESOURCES,
  STATES,
  ENDPOINTS_CHAPTER,
  AUTHENTICATION,
  EVENTS_CHAPTER,
  ERRORS_CHAPTER,
  LIMITS,
  VERSIONING,
]

export type Statement = {
  id: string
  section: string
  what: string
  tests: { file: string; name: string }[]
}

export const STATEMENTS: readonly Statement[] = CHAPTERS.flatMap(({ sections }, chapter) =>
  sections.flatMap(({ title, rows }, section) =>
    rows.map(([what, ...proofs], row) => ({
      id: `${chapter + 1}.${section + 1}.${row + 1}`,
      section: title,
      what,
      tests: proofs.map(([file, name]) => ({ file, name })),
    })),
  ),
)

/** docs/spec-coverage.md. */
export function describeCoverage(): string {
  const chapters = CHAPTERS.map(({ title, sections }, chapter) => {
    const tables = sections.map((section, index) => {
      const number = `${chapter + 1}.${index + 1}`
      const rows = STATEMENTS.filter(({ id }) => id.startsWith(`${number}.`)).map(describeRow)
      const head = '| | What is said | What shows it |\n|---|---|---|\n'
      return `### ${number} ${section.title}\n\n${head}${rows.join('')}`
    })
    return `## ${chapter + 1} ${title}\n\n${tables.join('\n')}`
  })
  return `${INTRODUCTION}\n${chapters.join('\n')}`
}

function describeRow({ id, what, tests }: Statement): string {
  const shown = tests.map(({ file, name }) => `\`${file}\` “${name}”`)
  return `| ${id} | ${what} | ${shown.join('<br>')} |\n`
}

const INTRODUCTION = `# What the specification says, and what shows it

${STATEMENTS.length} statements, in the order of the specification and in short words, each with the tests that fail without it. \`…\` stands
for what a test fills in, \`›\` between a group and its test. Generated from \`test/contract/spec.ts\` by \`npm run generate\`;
\`test/contract/coverage.test.ts\` fails when a statement has no test, or a test named here is not there.

Two codes of the specification are second names of others, \`rate_limit\` of \`provider_rate_limited\` and \`gateway_timeout\` of
\`provider_timeout\`: they are in the table of errors, with their status, and no call is answered with them.
`
