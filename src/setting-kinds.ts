// The kinds of settings: how each is read from text, and in words what is allowed.

import { BlockList, isIP } from 'node:net'
import { CREDITS_MAX } from './platform/money.ts'
import { parseSecretKeys } from './platform/secret-box.ts'

export type Setting<Value> = {
  readonly doc: string
  readonly fallback: Value
  /** What is allowed, in words. */
  readonly allowed: string
  /** undefined: the text is not allowed. */
  readonly parse: (text: string) => Value | undefined
  readonly secret?: boolean
}

const WINDOW_MAX = 1_000_000

export function integer(options: {
  fallback: number
  min: number
  max: number
  doc: string
}): Setting<number> {
  return {
    doc: options.doc,
    fallback: options.fallback,
    allowed: `a whole number from ${options.min} to ${options.max}`,
    parse: (given) => {
      const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
      return value >= options.min && value <= options.max ? value : undefined
    },
  }
}

export function limit(options: { fallback: number; doc: string }): Setting<number> {
  return integer({ ...options, min: 1, max: WINDOW_MAX })
}

/** Without a fallback of its own: another setting says what it is. */
export function optionalLimit(options: { doc: string }): Setting<number | undefined> {
  return {
    ...integer({ ...options, fallback: 0, min: 1, max: 100 * WINDOW_MAX }),
    fallback: undefined,
  }
}

/** Up to two decimals; the value is in hundredths of a percent, so that no float touches a price. */
export function percent(options: { fallback: number; doc: string }): Setting<number> {
  return {
    ...options,
    allowed: 'a percentage from 0 to 1000 with at most two decimals',
    parse: (given) => {
      const [, whole = '', decimals = ''] = /^(\d{1,4})(?:\.(\d{1,2}))?$/.exec(given) ?? []
      const value =
        whole === '' ? Number.NaN : Number(whole) * 100 + Number(decimals.padEnd(2, '0'))
      return value <= 100_000 ? value : undefined
    },
  }
}

export function credits(options: { fallback: bigint; doc: string }): Setting<bigint> {
  return {
    ...options,
    allowed: `a whole number of credits from 0 to ${CREDITS_MAX}`,
    parse: (given) => {
      const value = /^\d{1,16}$/.test(given) ? BigInt(given) : -1n
      return value >= 0n && value <= CREDITS_MAX ? value : undefined
    },
  }
}

export function optionalCredits(options: { doc: string }): Setting<bigint | undefined> {
  const { allowed, parse } = credits({ ...options, fallback: 0n })
  return { ...options, fallback: undefined, allowed, parse }
}

export function text(options: { fallback: string; doc: string }): Setting<string> {
  return { ...options, allowed: 'text', parse: (given) => given }
}

export function optionalText(options: {
  doc: string
  secret?: boolean
}): Setting<string | undefined> {
  return { ...options, fallback: undefined, allowed: 'text', parse: (given) => given }
}

export function secretKeys(options: { doc: string }): Setting<string | undefined> {
  return {
    ...options,
    fallback: undefined,
    secret: true,
    allowed: '32 bytes in base64, or several as id:base64,id:base64 with different ids',
    parse: (given) => (parseSecretKeys(given) ? given : undefined),
  }
}

export function choice<const Value extends string>(
  values: readonly [Value, ...Value[]],
  options: { doc: string; fallback?: NoInfer<Value> },
): Setting<Value> {
  return {
    doc: options.doc,
    fallback: options.fallback ?? values[0],
    allowed: values.join(' | '),
    parse: (given) => values.find((value) => value === given),
  }
}

/** Without a fallback of its own: another setting says what it is. */
export function optionalChoice<const Value extends string>(
  values: readonly [Value, ...Value[]],
  options: { doc: string },
): Setting<Value | undefined> {
  return { ...choice(values, options), fallback: undefined }
}

export function url(options: {
  protocols: readonly string[]
  doc: string
  secret?: boolean
}): Setting<string | undefined> {
  return {
    doc: options.doc,
    ...(options.secret && { secret: true }),
    fallback: undefined,
    allowed: `an address that starts with ${options.protocols.map((one) => `${one}//`).join(' or ')}`,
    parse: (given) => {
      // URL.parse alone also takes `http:host` and spaces around it, which nobody behind us would.
      const parsed = /^\S+$/.test(given) ? URL.parse(given) : null
      const starts_right = options.protocols.some((one) => given.startsWith(`${one}//`))
      return parsed && starts_right ? given : undefined
    },
  }
}

/** `true` or a hop count would let a caller choose its own address, so only ranges are taken. */
export function networks(options: { doc: string }): Setting<readonly string[]> {
  return {
    ...options,
    fallback: [],
    allowed: 'CIDR ranges such as 10.0.0.0/8,fd00::/8',
    parse: (given) => {
      const ranges = given.split(',').map((range) => range.trim())
      return ranges.every(isNetwork) ? ranges : undefined
    },
  }
}

function isNetwork(range: string): boolean {
  const [address = '', bits = '', ...more] = range.split('/')
  const family = isIP(address)
  if (family === 0 || !/^\d{1,3}$/.test(bits) || more.length > 0) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
    return Number(bits) > 0
  } catch {
    return false
  }
}
