// Devices and addresses that an account was signed in to from: nobody else's wrong passwords keep them out. A device is a
// random cookie; both are stored as digests.

import { addressBucket } from '../../http/address-bucket.ts'
import type { Tx } from '../../platform/db.ts'
import { digestSecret, mintSecret } from '../../platform/tokens.ts'
import type { Client } from '../sessions.ts'
import { isDeviceOf, saveDevice } from './store.ts'

/** Of one account, and as many addresses; what was used longest ago is forgotten first. */
const DEVICES_MAX = 20
const DEVICE_PATTERN = /^dev_[A-Za-z0-9_-]{43}$/

/** Undefined for what cannot be one of ours, which then costs no query. */
export function deviceDigestOf({ device_token }: Client): Buffer | undefined {
  if (device_token === undefined || !DEVICE_PATTERN.test(device_token)) return undefined
  return digestSecret(device_token)
}

export function addressDigestOf({ ip }: Client): Buffer {
  return digestSecret(addressBucket(ip))
}

/** The token to be set as cookie: the device's own, or a new one. A token that was planted there is never taken over. */
export async function rememberDevice(
  tx: Tx,
  signed_in: { account_id: string; client: Client; at: Date },
): Promise<string> {
  const { account_id, client, at } = signed_in
  const known = deviceDigestOf(client)
  const { device_token } = client
  const is_known = known !== undefined && (await isDeviceOf(tx, account_id, known))
  const token = is_known && device_token !== undefined ? device_token : mintSecret('dev_')
  const device = {
    account_id,
    device_digest: digestSecret(token),
    address_digest: addressDigestOf(client),
    at,
  }
  await saveDevice(tx, device, DEVICES_MAX)
  return token
}
