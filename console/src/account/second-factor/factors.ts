// The second factors of the account. Secrets and codes are answered to whoever asks and kept nowhere.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../../api.ts'
import type { paths } from '../../api-types.ts'
import { queries } from '../../queries.ts'
import { wrongField } from '../../ui/form.tsx'

export type Factors =
  paths['/account/factors']['get']['responses'][200]['content']['application/json']
export type Factor = Factors['data'][number]
export type BegunApp =
  paths['/account/factors/totp']['post']['responses'][200]['content']['application/json']
export type Added =
  paths['/account/factors/totp/confirm']['post']['responses'][201]['content']['application/json']

const FACTORS = ['factors']

export function useFactors() {
  return useQuery({ queryKey: FACTORS, queryFn: () => ask(() => api.GET('/account/factors')) })
}

export function beginApp(): Promise<BegunApp> {
  return ask(() => api.POST('/account/factors/totp'))
}

export async function confirmApp(code: string): Promise<Added> {
  const added = await ask(() => api.POST('/account/factors/totp/confirm', { body: { code } }))
  await readAgain()
  return added
}

/** The browser asks for a finger, a face, a PIN or a key; what it makes of that is sent. */
export async function addPasskey(name: string): Promise<Added> {
  // Browsers of before 2025 know passkeys, and not how to read what the service sends.
  const is_able =
    'PublicKeyCredential' in window && 'parseCreationOptionsFromJSON' in PublicKeyCredential
  if (!is_able) {
    throw wrongField('passkey', 'This browser is too old for passkeys. An authenticator app works.')
  }
  const { options } = await ask(() => api.POST('/account/factors/passkeys/options'))
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    // What the service made for exactly this call.
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  )
  const credential = await navigator.credentials.create({ publicKey }).catch(() => null)
  if (!(credential instanceof PublicKeyCredential)) {
    throw wrongField('passkey', 'The passkey was not made. Try again, or use another device.')
  }
  const response = readRegistration(credential)
  const added = await ask(() => api.POST('/account/factors/passkeys', { body: { name, response } }))
  await readAgain()
  return added
}

type Registration = NonNullable<
  paths['/account/factors/passkeys']['post']['requestBody']
>['content']['application/json']['response']

function readRegistration(credential: PublicKeyCredential): Registration {
  // Typed by the browser's library as whatever any kind of credential may hold.
  return credential.toJSON() as Registration
}

export async function removeFactor(id: string): Promise<void> {
  await ask(() => api.DELETE('/account/factors/{id}', { params: { path: { id } } }))
  await readAgain()
}

export async function makeRecoveryCodes(): Promise<string[]> {
  const { recovery_codes } = await ask(() => api.POST('/account/factors/recovery-codes'))
  await readAgain()
  return recovery_codes
}

async function readAgain(): Promise<void> {
  await queries.invalidateQueries({ queryKey: FACTORS })
}
