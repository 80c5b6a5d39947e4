// How an account stands, by its words.

import { Badge } from '../../ui/figures.tsx'
import type { User } from './users.ts'

const STATE_WORDS = { active: 'Active', suspended: 'Suspended', closing: 'Closing' }
const STATE_TONES = { active: 'good', suspended: 'danger', closing: 'warn' } as const

export function UserState({
  user,
}: {
  user: Pick<User, 'state' | 'is_operator' | 'email_verified'>
}) {
  return (
    <span className="row">
      <Badge tone={STATE_TONES[user.state]}>{STATE_WORDS[user.state]}</Badge>
      {user.is_operator && <Badge>Operator</Badge>}
      {!user.email_verified && <Badge>Not verified</Badge>}
    </span>
  )
}
