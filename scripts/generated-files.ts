// The content of every generated file, by its path.

import { describeSettings } from '../src/config.ts'
import { readDocument } from '../src/document.ts'
import { ERROR_CODES, errorEntry } from '../src/platform/errors.ts'

export async function generatedFiles(): Promise<Record<string, string>> {
  return {
    '.env.example': describeSettings(),
    'docs/errors.md': describeErrors(),
    'docs/openapi.json': `${JSON.stringify(await readDocument(), null, 2)}\n`,
  }
}

function describeErrors(): string {
  const rows = ERROR_CODES.map((code) => {
    const { status, message, hint, explanation } = errorEntry(code)
    return `## ${code}\n\n**${status}** ${message}\n\n${explanation}\n${hint === undefined ? '' : `\n${hint}\n`}`
  })
  return `# Error codes\n\nGenerated from \`src/platform/errors.ts\` by \`npm run generate\`.\n\n${rows.join('\n')}`
}
