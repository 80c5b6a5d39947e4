// Which passwords are taken. `length` asks for eight characters, as the interface says; `common` also refuses what
// everybody tries first, and the names of the service and of the account with digits around them. Nothing else is asked for: rules about digits and signs make passwords that people forget.

import { readFileSync } from 'node:fs'
import { ApiError } from '../platform/errors.ts'

export const PASSWORD_POLICIES = ['length', 'common'] as const
export type PasswordPolicy = (typeof PASSWORD_POLICIES)[number]

const LENGTH_MIN = 8
export const PASSWORD_BYTES_MAX = 1024

const ONE_CHARACTER = /^(.)\1*$/su
const LIST = new URL('guessed-passwords.txt', import.meta.url)

export type PasswordRules = { password_policy: PasswordPolicy; public_url: string }

/** `param`: the field it came in. `email`: whose password it is to be. */
export function requireStrongPassword(
  { password_policy, public_url }: PasswordRules,
  password: string,
  { param, email }: { param: string; email: string },
): void {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) {
    throw new ApiError('bad_request', {
      message: `The password is longer than ${PASSWORD_BYTES_MAX} bytes.`,
      param,
    })
  }
  // Code points, not UTF-16 units: eight emoji are eight characters.
  if (Array.from(password).length < LENGTH_MIN) throw new ApiError('weak_password', { param })
  if (password_policy === 'common') refuseGuessable(password, { param, email, public_url })
}

/** What a page says under the field. */
export function describePasswordRule({
  password_policy,
}: Pick<PasswordRules, 'password_policy'>): string {
  return password_policy === 'common'
    ? 'At least 8 characters, and not one of the passwords that everybody uses. Several words in a row are good.'
    : 'At least 8 characters. Several words in a row are good.'
}

function refuseGuessable(
  password: string,
  { param, email, public_url }: { param: string; email: string; public_url: string },
): void {
  const guess = foldCase(password)
  const word = bareWord(guess)
  const address = foldCase(email)
  if (guess === address || word === bareWord(address.slice(0, address.lastIndexOf('@')))) {
    throw new ApiError('weak_password', {
      message: 'The password is your own address.',
      hint: 'Use something that nobody finds beside your name: several words in a row, for example.',
      param,
    })
  }
  if (serviceWords(public_url).has(word)) {
    throw new ApiError('weak_password', {
      message: 'The password is the name of this service.',
      hint: 'Use something that nobody would try here first: several words in a row, for example.',
      param,
    })
  }
  if (ONE_CHARACTER.test(guess) || commonPasswords().has(guess)) {
    throw new ApiError('weak_password', {
      message: 'This password is one of those that everybody uses, and is guessed first.',
      hint: 'Use another one: several words in a row, for example.',
      param,
    })
  }
}

let known: ReadonlySet<string> | undefined

/** Read once, by the first who sets a password under the policy. */
function commonPasswords(): ReadonlySet<string> {
  known ??= new Set(
    readFileSync(LIST, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && line !== '#' && !line.startsWith('# ')),
  )
  return known
}

/** Digits and signs around a word are what people add when it alone is refused: `Alice_2026`. */
function bareWord(text: string): string {
  return text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '') || text
}

/** The host's name as a whole and in parts: `api.example.com` has three. */
function serviceWords(public_url: string): ReadonlySet<string> {
  const host = foldCase(new URL(public_url).hostname)
  return new Set(['svc', host, ...host.split('.')])
}

function foldCase(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase()
}
