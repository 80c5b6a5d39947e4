// Before the first call: the call itself, ready to run, and a page that waits for it.

import { useEffect, useState } from 'react'
import { sampleCalls } from '../sample-call.ts'
import { Button, LinkButton } from '../ui/button.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { CodeSnippet } from '../ui/snippet.tsx'

const LOOK_EVERY_MS = 3_000
/** Five minutes. */
const LOOKS_MAX = 100

export function FirstCall({ onLook }: { onLook: () => void }) {
  const { is_looking, lookAgain } = useLooking(onLook)
  return (
    <EmptyState
      title="Waiting for your first call"
      action={
        <div className="row">
          <LinkButton to="/keys?create=true" kind="primary">
            Create a key
          </LinkButton>
          <LinkButton to="/playground">Make one in the playground</LinkButton>
        </div>
      }
    >
      <p>Put your key in and run this. The call appears here with its receipt.</p>
      <CodeSnippet label="A first call" samples={sampleCalls()} />
      <p role="status">
        {is_looking
          ? 'Looking every three seconds.'
          : 'No call came within five minutes, so this page no longer looks for one.'}
      </p>
      {!is_looking && <Button onClick={lookAgain}>Look again</Button>}
    </EmptyState>
  )
}

/** Only while somebody sees the page. */
function useLooking(onLook: () => void) {
  const [looks, setLooks] = useState(0)
  const is_looking = looks < LOOKS_MAX
  useEffect(() => {
    if (!is_looking) return undefined
    const timer = setTimeout(() => {
      if (document.visibilityState === 'visible') onLook()
      setLooks(looks + 1)
    }, LOOK_EVERY_MS)
    return () => clearTimeout(timer)
  }, [is_looking, looks, onLook])
  return { is_looking, lookAgain: () => setLooks(0) }
}
