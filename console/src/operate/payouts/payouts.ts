// The data of this page, and the one write that pays.

import type { InfiniteData } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api, ask } from '../../api.ts'
import { queries, useList } from '../../queries.ts'
import { act, OPERATE, type Read, type RowOf } from '../operate.ts'

export type Run = RowOf<'/operator/payout-runs'>
export type Payout = RowOf<'/operator/payouts'>
export type Status = Payout['status']
export type DryRun = Awaited<ReturnType<typeof readDryRun>>
export type Due = DryRun['payouts'][number]

const RUNS = [OPERATE, 'payout-runs']
const LOOK_AGAIN_MS = 2_000
const LOOKS_MAX = 60

/** While the latest run has no outcome, it is looked at again, for two minutes at most. */
export function useRuns() {
  const runs = useList<Run>(RUNS, (query) =>
    ask(() => api.GET('/operator/payout-runs', { params: { query } })),
  )
  // It comes with each page; the list itself keeps rows only.
  const pages = queries.getQueryData<InfiniteData<Read<'/operator/payout-runs'>>>(RUNS)?.pages
  const latest = runs.pages?.[0]?.[0]
  const running_id = latest?.outcome === null ? latest.id : undefined
  useEffect(() => {
    if (running_id === undefined) return undefined
    let looks = 0
    const timer = setInterval(() => {
      if (++looks > LOOKS_MAX) clearInterval(timer)
      else void queries.invalidateQueries({ queryKey: [OPERATE] })
    }, LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [running_id])
  return { runs, next_run_at: pages?.[0]?.next_run_at }
}

export function usePayouts(status: Status | 'all') {
  return useList<Payout>([OPERATE, 'payouts', status], (page) => {
    const query = { ...page, ...(status !== 'all' && { status }) }
    return ask(() => api.GET('/operator/payouts', { params: { query } }))
  })
}

/** Who is due and how much. Changes nothing. */
export async function readDryRun() {
  const answer = await ask(() => api.POST('/operator/payout-runs', { body: { dry_run: true } }))
  if (!answer.dry_run) throw new Error('A dry run was asked for, and a run was answered.')
  return answer
}

export async function runPayouts(
  wanted: { expected_total_cents: number; reason: string },
  idempotency_key: string,
): Promise<void> {
  const header = { 'idempotency-key': idempotency_key }
  const body = { dry_run: false, ...wanted }
  await act(() => api.POST('/operator/payout-runs', { params: { header }, body }))
}
