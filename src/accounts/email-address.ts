// Email addresses: brought into one form first, then judged. What is stored is what was judged, so that an address
// which looks like another is either the same or refused.

import { ApiError } from '../platform/errors.ts'

const EMAIL_LENGTH_MAX = 254

/** One @, something on both sides, nothing a mail header could be broken with. */
const EMAIL_PATTERN = /^[^\s@\p{Cc}<>"(),;:\\]+@[^\s@\p{Cc}<>"(),;:\\]+$/u

/** Nobody sees them, and they make two addresses out of one: zero-width, bidi controls, fillers, private use. */
const INVISIBLE = /[\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}]/u

/** Mail software takes some of them for a dot, and some not. */
const FALSE_DOTS = /[\u3002\uff0e\uff61\ufe52\u2024\u2025\u2026]/u

/** Read as @ or taken for one. */
const FALSE_AT = /[\uff20\ufe6b]/u

/** The address as it is stored. */
export function requireEmail(given: string, param = 'email'): string {
  // Length first: nothing else is to be done with a megabyte.
  if (given.length > EMAIL_LENGTH_MAX * 2) throw new ApiError('invalid_email', { param })
  const email = normalise(given)
  const is_good =
    email.length <= EMAIL_LENGTH_MAX &&
    EMAIL_PATTERN.test(email) &&
    !INVISIBLE.test(given) &&
    !FALSE_AT.test(given) &&
    !FALSE_DOTS.test(given)
  if (!is_good) throw new ApiError('invalid_email', { param })
  return email
}

/** What two spellings of one address share. Nothing is made, or counted, of a text that is too long to be one. */
export function emailKey(email: string): string {
  if (email.length > EMAIL_LENGTH_MAX) throw new ApiError('invalid_email', { param: 'email' })
  return normalise(email).toLowerCase()
}

function normalise(email: string): string {
  return email.normalize('NFKC').trim()
}
