// Reads the settings (settings.ts) from the environment. A wrong value stops the start with one line that names the
// variable, the value and what is allowed.

import type { Setting } from './setting-kinds.ts'
import { SETTINGS } from './settings.ts'
import type { PromotionalCredits } from './wallet/promotional.ts'

export type SettingName = keyof typeof SETTINGS

type Values = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer Value>
    ? Value
    : never
}

type DefaultByMode =
  | 'MODEL_SUCCESSORS'
  | 'PASSWORD_POLICY'
  | 'PROMOTIONAL_CREDITS'
  | 'STEP_UP'
  | 'WELCOME_CREDITS'

export type Config = Omit<Values, 'PUBLIC_URL' | DefaultByMode> & {
  readonly PUBLIC_URL: string
  readonly WELCOME_CREDITS: bigint
  readonly PROMOTIONAL_CREDITS: PromotionalCredits
  readonly MODEL_SUCCESSORS: 'on' | 'off'
  readonly PASSWORD_POLICY: 'length' | 'common'
  readonly STEP_UP: 'always' | 'with_second_factor'
}

export class ConfigError extends Error {}

export function loadConfig(env: Record<string, string | undefined>): Config {
  const values: Record<string, unknown> = {}
  for (const [name, setting] of settingEntries()) {
    const given = env[name]
    const value = given === undefined || given === '' ? setting.fallback : setting.parse(given)
    if (value === undefined && given) throw new ConfigError(describeFault(name, given, setting))
    values[name] = value
  }
  const config = values as Values
  requireTwoPorts(config)
  requireTopupRange(config)
  const is_live = config.SVC_MODE === 'live'
  return {
    ...config,
    WELCOME_CREDITS: config.WELCOME_CREDITS ?? (is_live ? 100n : 1_000_000n),
    PROMOTIONAL_CREDITS: config.PROMOTIONAL_CREDITS ?? (is_live ? 'spend_only' : 'as_money'),
    MODEL_SUCCESSORS: config.MODEL_SUCCESSORS ?? (is_live ? 'on' : 'off'),
    PASSWORD_POLICY: config.PASSWORD_POLICY ?? (is_live ? 'common' : 'length'),
    STEP_UP: config.STEP_UP ?? (is_live ? 'always' : 'with_second_factor'),
    PUBLIC_URL: (config.PUBLIC_URL ?? `http://localhost:${config.PORT}`).replace(/\/+$/, ''),
  }
}

/** The parent of a cluster and its children would take the same one, and "in use by another process" would mislead. */
function requireTwoPorts({ ROLE, WORKERS, PORT, WORKER_PORT }: Values): void {
  if (ROLE === 'worker' || WORKERS === 1 || PORT === 0 || PORT !== WORKER_PORT) return
  throw new ConfigError(`PORT and WORKER_PORT are both ${PORT}: set one of them to another port`)
}

/** Names the one that the operator set: the other may be a default that nobody wrote down. */
function requireTopupRange({ TOPUP_MIN_USD: min, TOPUP_MAX_USD: max }: Values): void {
  if (min <= max) return
  throw new ConfigError(
    min === SETTINGS.TOPUP_MIN_USD.fallback
      ? `TOPUP_MAX_USD="${max}" is not allowed: expected at least TOPUP_MIN_USD, which is ${min}`
      : `TOPUP_MIN_USD="${min}" is not allowed: expected at most TOPUP_MAX_USD, which is ${max}`,
  )
}

/** The text of .env.example: every setting with its meaning and default, all commented out. */
export function describeSettings(): string {
  const head =
    '# Every setting of Svc. Copy to .env and change what you need; a line that is commented out has its default.\n'
  const lines = settingEntries().map(([name, setting]) => {
    return `\n# ${setting.doc}\n# Allowed: ${setting.allowed}\n#${name}=${describeValue(setting.fallback)}\n`
  })
  return head + lines.join('')
}

function describeValue(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : ''
}

function settingEntries(): [SettingName, Setting<unknown>][] {
  return Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]
}

function describeFault(name: string, given: string, setting: Setting<unknown>): string {
  const shown = setting.secret ? '(hidden)' : JSON.stringify(given)
  return `${name}=${shown} is not allowed: expected ${setting.allowed}`
}
