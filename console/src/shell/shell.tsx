// The frame of every page: left bar, top bar, the page itself, and what floats above it. Moves title and focus on
// navigation.

import {
  lazy,
  Suspense,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { matchRoute, useLocation, useRouter, Route as WouterRoute } from 'wouter'
import { pageOf } from '../pages.tsx'
import { useAccount } from '../queries.ts'
import { type PageRoute, ROUTES } from '../routes.ts'
import { isProofAsked, subscribeToProof } from '../step-up.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { Toasts } from '../ui/toast.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { useLanding } from './landing.ts'
import { Navigation } from './navigation.tsx'
import { NotFound } from './not-found.tsx'
import { useShortcutKeys } from './shortcut-keys.ts'
import { TopBar } from './top-bar.tsx'

// Not needed for the first paint.
const Palette = lazy(() => import('./palette.tsx'))
const Shortcuts = lazy(() => import('./shortcuts.tsx'))
const StepUpDialog = lazy(() => import('./step-up-dialog.tsx'))

export function Shell() {
  const [opened, setOpened] = useState<'menu' | 'palette' | 'shortcuts' | undefined>()
  const close = () => setOpened(undefined)
  const is_proof_asked = useSyncExternalStore(subscribeToProof, isProofAsked)
  const openPalette = useCallback(() => setOpened('palette'), [])
  const openShortcuts = useCallback(() => setOpened('shortcuts'), [])
  useShortcutKeys(openPalette, openShortcuts)
  useLanding()
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="frame">
        <div className="sidebar">
          <Navigation label="Main">
            <Brand />
          </Navigation>
        </div>
        <div className="column">
          <TopBar onMenu={() => setOpened('menu')} onSearch={openPalette} />
          <Main />
        </div>
      </div>
      {opened === 'menu' && (
        <Dialog kind="sheet" title="Menu" onClose={close}>
          <Navigation label="Menu" onFollow={close} />
        </Dialog>
      )}
      <Suspense fallback={null}>
        {opened === 'palette' && <Palette onClose={close} onShortcuts={openShortcuts} />}
        {opened === 'shortcuts' && <Shortcuts onClose={close} />}
        {is_proof_asked && <StepUpDialog />}
      </Suspense>
      <Toasts />
    </>
  )
}

function Brand() {
  return (
    <p className="brand">
      <a href="/console/" aria-label="svc, overview">
        <span className="mark">svc</span>
      </a>
    </p>
  )
}

function Main() {
  const [path] = useLocation()
  const route = useRoute(path)
  const main = useRef<HTMLElement>(null)
  const shown = useRef(path)
  useEffect(() => {
    document.title = `${route?.title ?? 'Not found'} · svc`
    // The first page keeps the focus where the browser put it.
    if (shown.current === path) return
    shown.current = path
    main.current?.focus()
    window.scrollTo(0, 0)
  }, [path, route])
  return (
    <main id="main" ref={main} tabIndex={-1}>
      <ErrorBoundary key={path}>
        <Suspense fallback={<Skeleton lines={6} />}>
          {route ? <Page route={route} /> : <NotFound />}
        </Suspense>
      </ErrorBoundary>
    </main>
  )
}

/** The pages of operators are not there for anybody else. */
function useRoute(path: string): PageRoute | undefined {
  const { parser } = useRouter()
  const route = ROUTES.find((candidate) => matchRoute(parser, candidate.path, path)[0])
  const account = useAccount()
  if (route?.seen_by !== 'operators' || account.data === undefined) return route
  return account.data.is_operator ? route : undefined
}

function Page({ route }: { route: PageRoute }) {
  const account = useAccount()
  // Nothing of an operator's page is asked for before it is known that somebody is one.
  if (route.seen_by === 'operators' && !account.data) return <Skeleton lines={6} />
  return <WouterRoute path={route.path} component={pageOf(route)} />
}
