// The one way to the API: typed by docs/openapi.json, with the session cookie. `ask` turns an answer into data or an
// ApiProblem, asks for a proof where the API wants one, and leads to the sign-in page when the session has ended.

import createClient from 'openapi-fetch'
import type { paths } from './api-types.ts'
import { ApiProblem, readProblem } from './problem.ts'
import { askForProof } from './step-up.ts'

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' })

/** What 401 says of a session; other codes are about a password or code that was typed. */
const SESSION_ENDED = ['invalid_api_key', 'unauthorized']

type Answer = { data?: unknown; error?: unknown; response: Response }

/** `ask(() => api.GET('/account'))`. The request is a function, because it is sent again after a step-up. */
export async function ask<Sent extends Answer>(
  send: () => Promise<Sent>,
): Promise<NonNullable<Sent['data']>> {
  const problem = await sendOnce(send)
  if (!(problem instanceof ApiProblem)) return problem
  if (problem.code !== 'step_up_required' || !(await askForProof())) throw problem
  const again = await sendOnce(send)
  if (again instanceof ApiProblem) throw again
  return again
}

async function sendOnce<Sent extends Answer>(
  send: () => Promise<Sent>,
): Promise<NonNullable<Sent['data']> | ApiProblem> {
  const answer = await send().catch(() => undefined)
  if (!answer) return unreachable()
  const { data, error, response } = answer
  if (response.ok) return data ?? {}
  const problem = readProblem(error, response)
  if (response.status !== 401 || !SESSION_ENDED.includes(problem.code)) return problem
  goToLogin()
  // The page is on its way out: what waits for this answer shows nothing more.
  return await new Promise<never>(() => {})
}

/** For answers that are streams or sound: the answer itself, or an ApiProblem. */
export async function fetchAnswer(path: keyof paths, request: RequestInit): Promise<Response> {
  const answer = await fetch(path, { credentials: 'same-origin', ...request }).catch(
    () => undefined,
  )
  if (!answer) throw unreachable()
  if (answer.ok) return answer
  const problem = readProblem(await answer.json().catch(() => undefined), answer)
  if (answer.status !== 401 || !SESSION_ENDED.includes(problem.code)) throw problem
  goToLogin()
  return await new Promise<never>(() => {})
}

/** Comes back to the page that is open now. */
export function goToLogin(): void {
  const { pathname, search } = location
  location.assign(`/oauth/login?${new URLSearchParams({ return_to: pathname + search })}`)
}

function unreachable(): ApiProblem {
  return new ApiProblem({
    status: 0,
    code: 'unreachable',
    message: 'The service does not answer.',
    hint: 'Check your connection. Nothing is lost; try again in a moment.',
  })
}
