// What the security log knows of: the word that is stored, and what its owner reads.

import type { Client } from '../client.ts'

export type EventKind = {
  /** What happened, as a sentence for the owner. */
  readonly says: string
  /** The owner is told by mail at once, with a way to say that it was not them. */
  readonly mailed?: boolean
  /** Done by an operator: nobody can say that it was not them. */
  readonly by_operator?: boolean
}

export const SECURITY_EVENTS = {
  sign_in: { says: 'Signed in' },
  sign_in_from_new_place: {
    says: 'Signed in from a place or device not seen before',
    mailed: true,
  },
  sign_in_failed: { says: 'A sign-in failed' },
  second_factor_failed: {
    says: 'The password was right, and the second factor was wrong',
    mailed: true,
  },
  sessions_ended: { says: 'Sessions were ended' },
  password_changed: { says: 'The password was changed', mailed: true },
  password_reset: { says: 'The password was reset by mail', mailed: true },
  email_verified: { says: 'The email address was confirmed' },
  // Both addresses are asked by a mail of its own.
  email_change_asked: { says: 'A change of the email address was asked for' },
  email_change_stopped: { says: 'A change of the email address was stopped' },
  email_changed: { says: 'The email address was changed', mailed: true },
  factor_added: { says: 'A second factor was added', mailed: true },
  factor_removed: { says: 'A second factor was removed', mailed: true },
  recovery_codes_made: { says: 'New recovery codes were made', mailed: true },
  recovery_code_used: { says: 'A recovery code was used', mailed: true },
  key_created: { says: 'An API key was created' },
  key_changed: { says: 'An API key was changed' },
  key_rotated: { says: 'An API key was rotated' },
  key_deleted: { says: 'An API key was deleted' },
  key_leaked: { says: 'An API key was found in public and ended', mailed: true },
  app_created: { says: 'An app was registered' },
  app_deleted: { says: 'An app was deleted' },
  app_secret_rotated: { says: 'The secret of an app was rotated', mailed: true },
  app_suspended: { says: 'An app was suspended by the operator', mailed: true },
  app_resumed: { says: 'An app was resumed by the operator', mailed: true },
  consent_given: { says: 'An app was connected' },
  consent_ended: { says: 'An app was disconnected' },
  cap_changed: { says: 'The spending cap of an app was changed' },
  payout_account_changed: { says: 'The payout account was changed', mailed: true },
  account_suspended: { says: 'The account was suspended', mailed: true, by_operator: true },
  account_resumed: { says: 'The account was resumed', mailed: true, by_operator: true },
  // A mail of its own says how to keep it.
  account_closing: { says: 'The account is to be deleted' },
  account_kept: { says: 'The deletion of the account was called off' },
} as const satisfies Record<string, EventKind>

export type SecurityEventKind = keyof typeof SECURITY_EVENTS

export type SecurityEvent = {
  account_id: string
  kind: SecurityEventKind
  at: Date
  /** Who did it; absent for what an operator or a job did. */
  client?: Client
  session_id?: string
  /** Ids and names for the owner to recognise it by: no secret, nothing of unbounded length. */
  details?: Record<string, string | number | boolean | null>
}
