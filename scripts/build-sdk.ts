// Builds the browser module from sdk/src/ into one file. The file is kept in the repository: a page that names its hash must get the
// same bytes from every installation and every later version.

import path from 'node:path'
import { build } from 'vite'

const FOLDER = path.resolve(import.meta.dirname, '../sdk')

/**
 * Of the module itself: most releases of the service leave it as it is. Once a version was released its file never changes, so a change
 * needs a new number here.
 */
export const SDK_VERSION = '0.1.0'

export async function buildSdk(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    root: FOLDER,
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: {
        input: path.join(FOLDER, 'src/main.ts'),
        preserveEntrySignatures: 'strict',
        output: { format: 'es', comments: false },
      },
    },
  })
  const [result] = [built].flat()
  if (!result || !('output' in result)) throw new Error('Vite built nothing')
  return `/*! Svc for browsers ${SDK_VERSION}; sources in sdk/src */\n${result.output[0].code.trim()}\n`
}
