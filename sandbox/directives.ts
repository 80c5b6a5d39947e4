// The test prompts: `[[sandbox:name]]` or `[[sandbox:name=value]]` in the last user message asks for
// one behaviour. docs/sandbox.md explains each; a test keeps that page and this list equal.

export const DIRECTIVES = [
  // What the answer says.
  'tokens',
  'reasoning',
  'echo',
  'unicode',
  'tool',
  'arguments',
  'announce',
  'content_filter',
  'refusal',
  'finish',
  'no_usage',
  'seconds',
  // Errors instead of an answer.
  '401',
  '404',
  '429',
  '500',
  'overloaded',
  'quota',
  'blocked',
  'too_long',
  'unverified',
  // How the bytes travel.
  'timeout',
  'hangup',
  'slow',
  'pace',
  'cut',
  'cut_after',
  'end_after',
  'stall',
  'error_mid_stream',
  'failed_mid_stream',
  'garbage',
  'empty_body',
  'crlf',
  'comments',
  'big_event',
  'split',
] as const

export type DirectiveName = (typeof DIRECTIVES)[number]
export type Directives = Readonly<Partial<Record<DirectiveName, string>>>

export type Conversation = {
  /** The text of the last user turn that has any. */
  asked: string
  /** The texts of the tool results that the conversation ends with, if it does. */
  results: readonly string[]
  /** Whether those results came after `asked` was said. */
  results_follow: boolean
}

/** A value may contain single brackets, as the JSON of a list does. */
const PATTERN = /\[\[sandbox:([a-z0-9_]+)(?:=((?:(?!\]\])[^])*))?\]\]/g
const MAX_DIRECTIVES = 100

/**
 * What the end of a conversation asks for. A `tool` that was already answered by a tool result is
 * spent, otherwise every agent loop would call the tool for ever; one inside the result counts again.
 */
export function readDirectives(conversation: Conversation): Directives {
  const { tool, ...others } = parseDirectives(conversation.asked)
  const spent =
    tool === undefined || (conversation.results.length > 0 && conversation.results_follow)
  const asked = spent ? others : { ...others, tool }
  return { ...asked, ...parseDirectives(conversation.results.join('\n')) }
}

export function parseDirectives(text: string): Directives {
  const found: Partial<Record<DirectiveName, string>> = {}
  for (const [, name, value] of [...text.matchAll(PATTERN)].slice(0, MAX_DIRECTIVES)) {
    const known = DIRECTIVES.find((directive) => directive === name)
    if (known !== undefined) found[known] = value ?? ''
  }
  return found
}

/** A misspelt test prompt must not pass as an ordinary message: the test would prove nothing. */
export function findUnknownDirective(conversation: Conversation): string | undefined {
  const text = [conversation.asked, ...conversation.results].join('\n')
  const names = [...text.matchAll(PATTERN)].map(([, name]) => name ?? '')
  return names.find((name) => !DIRECTIVES.some((directive) => directive === name))
}

export function removeDirectives(text: string): string {
  return text.replaceAll(PATTERN, '').trim()
}

/** The number a directive carries, within bounds; undefined when it is absent or has none. */
export function directiveNumber(value: string | undefined, max: number): number | undefined {
  if (value === undefined || !/^\d+(\.\d+)?$/.test(value)) return undefined
  return Math.min(Number(value), max)
}
