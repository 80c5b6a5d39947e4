// How long one waits after so many failures of a day. With LOGIN_LIMIT_PER_MINUTE at its 5:
//
//   failures of an account today   20    25    30    35    40     45     50 and more
//   wait after the last one         1     2     4     8    16     32     60 minutes
//
// and for an address, behind which there may be many people, five times as many: 100, 125, 150 and so on.

const FREE_TIMES = 4
const STEP_TIMES = 1
const ADDRESS_TIMES = 5
const FIRST_WAIT_MS = 60_000
const LONGEST_WAIT_MS = 60 * 60_000

/** `of`: whose failures they are. Nothing for those that come before the threshold. */
export function waitAfter(
  failures: number,
  { of, login_limit }: { of: 'account' | 'address'; login_limit: number },
): number {
  const unit = login_limit * (of === 'address' ? ADDRESS_TIMES : 1)
  if (failures < unit * FREE_TIMES) return 0
  const doublings = Math.floor((failures - unit * FREE_TIMES) / (unit * STEP_TIMES))
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** doublings)
}
