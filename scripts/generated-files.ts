// The content of every generated file, by its path.

import { readFileSync } from 'node:fs'
import { describeSettings } from '../src/config.ts'
import { readDocument } from '../src/document.ts'
import { ERROR_CODES, errorEntry } from '../src/platform/errors.ts'

export async function generatedFiles(): Promise<Record<string, string>> {
  return {
    '.env.example': describeSettings(),
    'docs/connect-an-app.md': embedFiles(readFileSync('docs/connect-an-app.md', 'utf8')),
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

/** Puts each file that a comment names into the code block after it. */
function embedFiles(page: string): string {
  return page.replaceAll(
    /<!-- (examples\/\S+\.ts) -->\n```ts\n.*?```\n/gs,
    (_, file: string) => `<!-- ${file} -->\n\`\`\`ts\n${readFileSync(file, 'utf8')}\`\`\`\n`,
  )
}
