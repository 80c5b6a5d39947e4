// What the pages of operators share: how they read and write, and a few words. Nothing here is asked for before the
// shell knows that somebody is an operator.

import { useState } from 'react'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { type List, queries } from '../queries.ts'

type Path = keyof paths

/** What a GET answers. */
export type Read<P extends Path> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } }
}
  ? Body
  : never

/** A row of what a GET lists. */
export type RowOf<P extends Path> = Read<P> extends { data: (infer Row)[] } ? Row : never

/** The key of everything that operators read begins so. */
export const OPERATE = 'operate'

/** A write. Afterwards everything that operators read is read again: each act shows in the audit too. */
export async function act<Sent extends { data?: unknown; error?: unknown; response: Response }>(
  send: () => Promise<Sent>,
) {
  const answer = await ask(send)
  await queries.invalidateQueries({ queryKey: [OPERATE] })
  return answer
}

const KEY_BYTES = 16

/** One for the life of a dialog: whoever presses again after a lost answer does it once. */
export function useIdempotencyKey(): string {
  const [key] = useState(() => {
    const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
    return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  })
  return key
}

/** Rows that came in one answer, for a DataTable. */
export function fixedList<Row>(rows: Row[]): List<Row> {
  return {
    pages: [rows],
    problem: null,
    has_more: false,
    is_loading_more: false,
    loadMore: () => {},
    retry: () => {},
  }
}

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400

/** "3 d 4 h", "12 min", "40 s". */
export function formatLength(seconds: number): string {
  if (seconds < MINUTE_S) return `${Math.round(seconds)} s`
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min`
  if (seconds < DAY_S) {
    return inTwo([Math.floor(seconds / HOUR_S), 'h'], [seconds % HOUR_S, MINUTE_S, 'min'])
  }
  return inTwo([Math.floor(seconds / DAY_S), 'd'], [seconds % DAY_S, HOUR_S, 'h'])
}

function inTwo(
  [count, unit]: [number, string],
  [rest, size, small_unit]: [number, number, string],
): string {
  const small = Math.floor(rest / size)
  return small === 0 ? `${count} ${unit}` : `${count} ${unit} ${small} ${small_unit}`
}

export function formatMilliseconds(ms: number | null): string {
  return ms === null ? '–' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

/** Suspends an app or lets it go on. False: it was so before. */
export async function setAppSuspended(
  client_id: string,
  is_suspended: boolean,
  reason: string,
): Promise<boolean> {
  const given = { params: { path: { client_id } }, body: { reason } }
  const { changed } = await act(() =>
    is_suspended
      ? api.POST('/operator/apps/{client_id}/suspend', given)
      : api.POST('/operator/apps/{client_id}/resume', given),
  )
  return changed
}
