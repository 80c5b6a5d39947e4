// Copying, and secrets that are shown once.

import { useState } from 'react'
import { Button } from './button.tsx'

const SAID_MS = 2_000

export function CopyButton(props: {
  text: string
  label?: string
  onCopied?: () => void
  primary?: boolean
}) {
  const { text, label = 'Copy', onCopied, primary = false } = props
  const [is_copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    onCopied?.()
    setTimeout(() => setCopied(false), SAID_MS)
  }
  return (
    <Button
      kind={primary ? 'primary' : 'plain'}
      sign={is_copied ? 'check' : 'copy'}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{is_copied ? 'Copied' : label}</span>
    </Button>
  )
}

/** Hidden until asked for, and copied without being shown. `onTaken` is told once it was copied or shown. */
export function SecretOnce({
  secret,
  label,
  onTaken,
}: {
  secret: string
  label: string
  onTaken: () => void
}) {
  const [is_shown, setShown] = useState(false)
  const show = () => {
    setShown(!is_shown)
    onTaken()
  }
  return (
    <div className="secret">
      <code className="secret-text" aria-label={label} role="status">
        {is_shown ? secret : `${secret.slice(0, 12)}${'•'.repeat(20)}`}
      </code>
      <div className="row">
        <CopyButton
          primary
          text={secret}
          label={`Copy ${label.toLowerCase()}`}
          onCopied={onTaken}
        />
        <Button sign={is_shown ? 'hide' : 'show'} onClick={show}>
          {is_shown ? 'Hide' : 'Show'}
        </Button>
      </div>
    </div>
  )
}
