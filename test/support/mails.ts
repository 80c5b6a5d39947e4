// The mails that a service without a mail server keeps in its data folder.

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { sendQueuedMail, type TestApp } from './app.ts'

/** The links of the mails that are kept for an address, oldest first. */
export function linksFor(service: TestApp, email: string): URL[] {
  const folder = path.join(service.data_dir, 'mail')
  return readdirSync(folder)
    .sort()
    .map((name) => readFileSync(path.join(folder, name), 'utf8').replaceAll(/=\r?\n/g, ''))
    .filter((text) => text.includes(`To: ${email}`))
    .flatMap((text) => text.replaceAll('=3D', '=').match(/http:\/\/\S+token=svc_\w+_[\w-]+/) ?? [])
    .map((link) => new URL(link))
}

/** Sends what is queued, and reads the token of the newest link for the address. */
export async function mailedToken(service: TestApp, email: string): Promise<string> {
  await sendQueuedMail(service)
  return linksFor(service, email).at(-1)?.searchParams.get('token') ?? 'missing'
}

export async function resetPassword(
  service: TestApp,
  email: string,
  fields: Record<string, unknown> = {},
) {
  await service.post('/auth/forgot-password', { email })
  const token = await mailedToken(service, email)
  return await service.post('/auth/reset-password', {
    token,
    new_password: 'the owner’s own words',
    ...fields,
  })
}

/** As the owner does it: from the mail, with the password. */
export async function verifyAddress(
  service: TestApp,
  owner: { email: string; bearer: Record<string, string> },
): Promise<void> {
  await service.post('/auth/send-verification', {}, owner.bearer)
  const token = await mailedToken(service, owner.email)
  const reply = await service.post('/auth/verify', { token }, owner.bearer)
  if (reply.statusCode !== 200)
    throw new Error(`verify answered ${reply.statusCode}: ${reply.body}`)
}
