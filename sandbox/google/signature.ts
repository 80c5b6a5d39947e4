// Thought signatures: what a model thought, sealed, so that it can be given back. The more was
// thought, the longer they are.

import { digest } from '../random.ts'

const MARK = 'sandbox-thought:'
const BYTES_PER_TOKEN = 4

export function signThoughts(seed: string, reasoning_tokens: number): string {
  const sealed = digest(seed)
  const length = sealed.length + reasoning_tokens * BYTES_PER_TOKEN
  const bytes = sealed.repeat(Math.ceil(length / sealed.length)).slice(0, length)
  return Buffer.from(MARK + bytes).toString('base64')
}

export function isOwnSignature(signature: string): boolean {
  return Buffer.from(signature, 'base64').toString('utf8').startsWith(MARK)
}
