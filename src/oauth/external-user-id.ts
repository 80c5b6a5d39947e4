// A developer's own name for a user, wherever it is given: at consent, in a header, in a path.

export const EXTERNAL_USER_ID_RULE = '1 to 255 printable characters'

const LENGTH_MAX = 255

export function isExternalUserId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= LENGTH_MAX &&
    !/\p{Cc}/u.test(value)
  )
}
