// Buttons, and links that look like them. One primary button a view.

import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'
import { Sign, type SignName } from './icons.tsx'

export type ButtonKind = 'primary' | 'plain' | 'danger' | 'quiet'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  kind?: ButtonKind
  sign?: SignName
  /** Says that work is under way; a second press does nothing. */
  busy?: boolean
}

export function Button({ kind = 'plain', sign, busy = false, children, ...rest }: ButtonProps) {
  const { onClick } = rest
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind}`}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {sign && <Sign name={sign} />}
      <span>{children}</span>
    </button>
  )
}

/** A button whose sign says it all to those who see; `label` says it to everybody else. */
export function IconButton({
  sign,
  label,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { sign: SignName; label: string }) {
  return (
    <button type="button" title={label} aria-label={label} {...rest} className="icon-button">
      <Sign name={sign} />
    </button>
  )
}

export function LinkButton(props: {
  to: string
  kind?: ButtonKind
  sign?: SignName
  children: ReactNode
}) {
  const { to, kind = 'plain', sign, children } = props
  return (
    <Link to={to} className={`button ${kind}`}>
      {sign && <Sign name={sign} />}
      <span>{children}</span>
    </Link>
  )
}
