// Writes what is generated from the code: .env.example, docs/openapi.json, docs/errors.md, docs/spec-coverage.md, the tables of
// docs/compatibility.md, the snippets of docs/connect-an-app.md and docs/browser-apps.md, the snippets and events of docs/webhooks.md, and
// the browser module.
// test/tidy.test.ts fails while one of them is out of date.

import { mkdirSync, writeFileSync } from 'node:fs'
import { generatedFiles } from './generated-files.ts'

mkdirSync('docs', { recursive: true })
for (const [file, content] of Object.entries(await generatedFiles())) {
  writeFileSync(file, content)
  process.stdout.write(`${file}\n`)
}
