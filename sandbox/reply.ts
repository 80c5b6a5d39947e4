// What a stand-in wants to send, as plain data: the providers' files decide it, deliver.ts sends it.

import type { Directives } from './directives.ts'

export type HeaderList = Readonly<Record<string, string>>

/** One event of a stream. The kind is what `[[sandbox:cut_after=<kind>]]` refers to. */
export type Frame = { kind: string; event?: string; data: string }

export type Reply =
  | { type: 'json'; status: number; headers: HeaderList; body: unknown }
  | {
      type: 'events'
      headers: HeaderList
      layout: Layout
      frames: readonly Frame[]
      /** What says that something went wrong, after so many of the frames. */
      errors: (sent: number) => readonly Frame[]
    }
  | { type: 'bytes'; status: number; headers: HeaderList; chunks: Iterable<Buffer> }

/** Server-sent events with either line end, or one JSON array written piece by piece. */
export type Layout = 'sse' | 'sse_crlf' | 'json_array'

export type Outcome = { reply: Reply; directives: Directives }

export function jsonReply(status: number, body: unknown, headers: HeaderList = {}): Reply {
  return { type: 'json', status, headers, body }
}

/** A reply that no test prompt had a say in. */
export function plainOutcome(reply: Reply): Outcome {
  return { reply, directives: {} }
}
