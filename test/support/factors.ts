// A person with a second factor: what tests do to get one, and to use it.

import { Secret, TOTP } from 'otpauth'
import { PASSWORD, type TestApp } from './app.ts'
import { createAuthenticator } from './authenticator.ts'
import { sql } from './database.ts'
import type { Person } from './oauth.ts'

/** What PUBLIC_URL is in the tests. */
export const ORIGIN = 'http://localhost:8080'

type Factor = { id: string; kind: string; name: string }
export type AddedFactor = { factor: Factor; recovery_codes: string[] | null }
export type PasskeyOptions = { challenge: string; rp?: { id?: string }; rpId?: string }

export type Question = {
  code: string
  challenge_id: string
  factors: string[]
  expires_at: string
  passkey_options?: PasskeyOptions & { userVerification?: string }
}

/** The code that an app shows: now, or some steps from now. */
export function codeOf(secret: string, at: Date, steps = 0): string {
  const timestamp = at.getTime() + steps * 30_000
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp })
}

export async function addTotp(service: TestApp, person: Person) {
  const begun = await service.post('/account/factors/totp', {}, person.bearer)
  if (begun.statusCode !== 200) throw new Error(begun.body)
  const { secret } = begun.json<{ secret: string }>()
  const code = codeOf(secret, service.clock.now())
  const reply = await service.post('/account/factors/totp/confirm', { code }, person.bearer)
  if (reply.statusCode !== 201) throw new Error(reply.body)
  return { secret, code, ...reply.json<AddedFactor>() }
}

export async function beginPasskey(service: TestApp, person: Person): Promise<PasskeyOptions> {
  const reply = await service.post('/account/factors/passkeys/options', {}, person.bearer)
  if (reply.statusCode !== 200) throw new Error(reply.body)
  return reply.json<{ options: PasskeyOptions }>().options
}

export async function addPasskey(service: TestApp, person: Person, name = 'Laptop') {
  const authenticator = createAuthenticator(service.parts.config.PUBLIC_URL)
  const response = authenticator.register(await beginPasskey(service, person))
  const reply = await service.post('/account/factors/passkeys', { name, response }, person.bearer)
  if (reply.statusCode !== 201) throw new Error(reply.body)
  return { authenticator, ...reply.json<AddedFactor>() }
}

/** The first step of a sign-in, of somebody who is asked for a second. */
export async function ask(
  service: TestApp,
  { email }: { email: string },
  password = PASSWORD,
): Promise<Question> {
  const reply = await service.post('/auth/login', { email, password })
  if (reply.statusCode !== 401) throw new Error(`login answered ${reply.statusCode} ${reply.body}`)
  return reply.json<{ error: Question }>().error
}

export async function answer(service: TestApp, challenge_id: string, proof: object) {
  return await service.post('/auth/login/second-factor', { challenge_id, ...proof })
}

/** What happened to the account, but for sign-ins. By name: events of one moment have no order. */
export async function eventsOf(service: TestApp, person: Person): Promise<string[]> {
  const rows = await sql<{ kind: string }>(
    service.database_url,
    `select kind from security_event where account_id = $1 and kind <> 'sign_in' order by kind`,
    [person.user_id],
  )
  return rows.map(({ kind }) => kind)
}
