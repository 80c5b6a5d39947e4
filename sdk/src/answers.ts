// What comes back from the gateway's pages, and its way from the popup to the page that opened it. There are two ways, because each is
// cut off somewhere: the opener for pages with an opener policy, the channel for frames in pages of other sites.

import { SvcError } from './replies.ts'

const FIELDS = ['code', 'state', 'iss', 'error', 'error_description'] as const
const SIGN_IN_MAX_MS = 600_000
const POPUP = 'svc_popup_'
const PAGE = 'svc_page_'

export type Answer = Record<(typeof FIELDS)[number], string | null>

export function stateFor(popup: unknown): string {
  return popup ? POPUP : PAGE
}

export function isForOpener({ state }: Answer): boolean {
  return state?.startsWith(POPUP) ?? false
}

/** Takes the answer out of the address, where it would go to the history and to other sites. */
export function takeAnswer(): Answer | undefined {
  const url = new URL(location.href)
  const { searchParams } = url
  if (!/^svc_(popup|page)_/.test(searchParams.get('state') ?? '')) return undefined
  const answer = Object.fromEntries(FIELDS.map((name) => [name, searchParams.get(name)])) as Answer
  for (const name of FIELDS) searchParams.delete(name)
  history.replaceState(history.state, '', url)
  return answer
}

/** Never ends: the page that opened this one goes on. */
export function handOver(channel: BroadcastChannel, answer: Answer): Promise<never> {
  opener?.postMessage(answer, self.origin)
  channel.postMessage(answer)
  close()
  document.body?.replaceChildren('You can close this window.')
  return new Promise(() => {})
}

/** A popup that looks closed need not be: under an opener policy it always does. So only time ends the wait, or a new attempt. */
export function waitForAnswer(
  channel: BroadcastChannel,
  state: string,
  replaced: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.any([replaced, AbortSignal.timeout(SIGN_IN_MAX_MS)])
    const take = ({ data, origin }: MessageEvent) => {
      if (origin === self.origin && data?.state === state) resolve(data)
    }
    addEventListener('message', take, { signal })
    channel.addEventListener('message', take, { signal })
    signal.addEventListener('abort', () =>
      reject(new SvcError('gave_up', 'The sign-in was not finished.')),
    )
  })
}
