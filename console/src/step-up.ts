// The API asks for a fresh proof of who somebody is (docs/second-factor.md). Whoever needs one waits here; the dialog
// in the shell answers. Several calls at once wait for the same dialog.

type Waiting = { readonly answer: Promise<boolean>; settle: (is_proved: boolean) => void }

let waiting: Waiting | undefined
const listeners = new Set<() => void>()

/** True once it is proved; false if the dialog was closed. */
export function askForProof(): Promise<boolean> {
  if (!waiting) {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    waiting = { answer: promise, settle: resolve }
    notify()
  }
  return waiting.answer
}

export function settleProof(is_proved: boolean): void {
  waiting?.settle(is_proved)
  waiting = undefined
  notify()
}

export function subscribeToProof(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function isProofAsked(): boolean {
  return waiting !== undefined
}

function notify(): void {
  for (const listener of listeners) listener()
}
