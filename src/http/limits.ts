// Every limit by name: how many, in how long, and the code that refuses.

import type { ErrorCode } from '../platform/errors.ts'

export type LimitName =
  | 'global'
  | 'session'
  | 'unknown_credential'
  | 'register'
  | 'register_site'
  | 'register_region'
  | 'register_service'
  | 'login'
  | 'recovery'
  | 'verification'
  | 'password'
  | 'second_factor'
  | 'second_factor_day'
  | 'funding'
  | 'oauth_token'
  | 'oauth_token_app'
  | 'client_secret'
  | 'user_code'

export type Limit = { max: number; window_s: number; code: ErrorCode }

export type Limits = Record<LimitName, Limit>

/** Wrong secrets a minute for one app from one address. */
const CLIENT_SECRET_GUESSES = 10

/**
 * Wrong codes of devices, for one account and for one address. A code lives as long as the window and is one of 20^8: five
 * guesses at any of a thousand open ones hit with a chance of 0.0000002.
 */
const USER_CODE_GUESSES = 5
const USER_CODE_WINDOW_S = 600

/**
 * Codes of authenticator apps for one account, right or wrong. Three of a million codes are good at a time: whoever has the
 * password and guesses all day hits one with a chance of 0.00015.
 */
const CODES_PER_15_MINUTES = 10
const CODES_PER_DAY = 50

/** What all addresses together may ask in the name of an app that has no secret, as a multiple of one. */
const TOKEN_APP_TIMES = 50

/** Registrations of wider networks, as multiples of those of one address. */
const REGISTER_SITE_TIMES = 3
const REGISTER_REGION_TIMES = 10
const REGISTER_SERVICE_TIMES = 100

export function limitsFrom(config: {
  RATE_LIMIT_PER_MINUTE: number
  SESSION_LIMIT_PER_MINUTE: number
  REGISTER_LIMIT_PER_MINUTE: number
  REGISTER_SITE_LIMIT_PER_MINUTE: number | undefined
  REGISTER_REGION_LIMIT_PER_MINUTE: number | undefined
  REGISTER_SERVICE_LIMIT_PER_MINUTE: number | undefined
  LOGIN_LIMIT_PER_MINUTE: number
  VERIFICATION_LIMIT_PER_HOUR: number
  PASSWORD_LIMIT_PER_15_MINUTES: number
  FUNDING_LIMIT_PER_MINUTE: number
  TOKEN_LIMIT_PER_MINUTE: number
}): Limits {
  const perMinute = (max: number): Limit => ({ max, window_s: 60, code: 'rate_limit_exceeded' })
  const register = config.REGISTER_LIMIT_PER_MINUTE
  return {
    global: perMinute(config.RATE_LIMIT_PER_MINUTE),
    // A page asks several things at once: one view of the console is up to five requests.
    session: perMinute(config.SESSION_LIMIT_PER_MINUTE),
    // Credentials of one address that were nobody's: each cost a query.
    unknown_credential: perMinute(config.RATE_LIMIT_PER_MINUTE),
    register: perMinute(register),
    register_site: perMinute(
      config.REGISTER_SITE_LIMIT_PER_MINUTE ?? register * REGISTER_SITE_TIMES,
    ),
    register_region: perMinute(
      config.REGISTER_REGION_LIMIT_PER_MINUTE ?? register * REGISTER_REGION_TIMES,
    ),
    register_service: perMinute(
      config.REGISTER_SERVICE_LIMIT_PER_MINUTE ?? register * REGISTER_SERVICE_TIMES,
    ),
    // Requests of an address; and failures of an account, a device or a place, where what succeeds is given back.
    login: perMinute(config.LOGIN_LIMIT_PER_MINUTE),
    // As tight as login, but not used up by it: who fails to log in needs the way out.
    recovery: perMinute(config.LOGIN_LIMIT_PER_MINUTE),
    verification: { max: config.VERIFICATION_LIMIT_PER_HOUR, window_s: 3600, code: 'rate_limited' },
    password: { max: config.PASSWORD_LIMIT_PER_15_MINUTES, window_s: 900, code: 'rate_limited' },
    second_factor: { max: CODES_PER_15_MINUTES, window_s: 900, code: 'rate_limited' },
    second_factor_day: { max: CODES_PER_DAY, window_s: 86_400, code: 'rate_limited' },
    funding: perMinute(config.FUNDING_LIMIT_PER_MINUTE),
    oauth_token: perMinute(config.TOKEN_LIMIT_PER_MINUTE),
    oauth_token_app: perMinute(config.TOKEN_LIMIT_PER_MINUTE * TOKEN_APP_TIMES),
    // Wrong secrets only, so that nobody can lock an app out by guessing from elsewhere.
    client_secret: perMinute(CLIENT_SECRET_GUESSES),
    user_code: { max: USER_CODE_GUESSES, window_s: USER_CODE_WINDOW_S, code: 'rate_limited' },
  }
}
