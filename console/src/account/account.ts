// What is asked of the API on the account's own pages.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { ApiProblem } from '../problem.ts'
import { queries, useList } from '../queries.ts'
import { wrongField } from '../ui/form.tsx'

export type Session =
  paths['/account/sessions']['get']['responses'][200]['content']['application/json']['data'][number]
export type SecurityEvent =
  paths['/account/events']['get']['responses'][200]['content']['application/json']['data'][number]
export type Closing = paths['/account']['delete']['responses'][200]['content']['application/json']

const SESSIONS = ['sessions']
const EVENTS = ['security-events']

/** True if a mail is on its way; false if the address is verified already. */
export async function sendVerification(): Promise<boolean> {
  const { already_verified } = await ask(() => api.POST('/auth/send-verification'))
  if (already_verified) await queries.invalidateQueries({ queryKey: ['account'] })
  return !already_verified
}

export async function askEmailChange(new_email: string): Promise<void> {
  await ask(() => api.POST('/account/email', { body: { new_email } }))
}

export async function changePassword(body: {
  current_password: string
  new_password: string
}): Promise<void> {
  try {
    await ask(() => api.POST('/auth/change-password', { body }))
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== 'invalid_credentials') throw error
    throw wrongField('current_password', 'This is not your present password.')
  }
  await queries.invalidateQueries({ queryKey: SESSIONS })
}

export function useSessions() {
  return useList<Session>(SESSIONS, (query) =>
    ask(() => api.GET('/account/sessions', { params: { query } })),
  )
}

export async function endSession(id: string): Promise<void> {
  await ask(() => api.DELETE('/account/sessions/{id}', { params: { path: { id } } }))
  await queries.invalidateQueries({ queryKey: SESSIONS })
}

/** How many ended. */
export async function endOtherSessions(): Promise<number> {
  const { ended } = await ask(() => api.DELETE('/account/sessions'))
  await queries.invalidateQueries({ queryKey: SESSIONS })
  return ended
}

export function useSecurityEvents() {
  return useList<SecurityEvent>(EVENTS, (query) =>
    ask(() => api.GET('/account/events', { params: { query } })),
  )
}

export function useEarnings() {
  return useQuery({
    queryKey: ['leaving', 'earnings'],
    queryFn: () => ask(() => api.GET('/developers/earnings')),
  })
}

export async function closeAccount(): Promise<Closing> {
  return await ask(() => api.DELETE('/account'))
}
