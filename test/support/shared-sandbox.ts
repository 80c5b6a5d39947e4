// The providers' stand-ins: one set for a test file.

import { type Sandbox, startSandbox } from '../../sandbox/main.ts'
import { atEnd } from './cleanup.ts'

let running: Promise<Sandbox> | undefined

/** The stand-ins keep nothing that one test could spoil for another, but a test may count what reaches them. */
export function sharedSandbox(): Promise<Sandbox> {
  running ??= startSandbox({ port: 0 }).then((sandbox) => {
    atEnd(() => sandbox.close())
    return sandbox
  })
  return running
}

/** Before another file is loaded into the same process. */
export function forgetSandbox(): void {
  running = undefined
}
