// Who came here to pay for an app, and builds nothing yet, begins at the wallet.

import { useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { useAccount } from '../queries.ts'

/** True for an account that came through an app's consent and has no key. */
export function usePaysOnly(): boolean {
  const { data } = useAccount()
  return data?.came_from === 'consent' && !data.onboarding.create_key
}

/** Only the address that the console was opened with is changed: the overview stays a page that can be followed to. */
export function useLanding(): void {
  const [path, navigate] = useLocation()
  const is_landing = useRef(path === '/')
  const pays_only = usePaysOnly()
  useEffect(() => {
    if (path !== '/') is_landing.current = false
    else if (is_landing.current && pays_only) navigate('/wallet', { replace: true })
  }, [path, pays_only, navigate])
}
