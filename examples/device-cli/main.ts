// A command line tool for machines without a browser: shows a code, waits until its user has typed it elsewhere, asks,
// prints the answer as it comes and what it cost. No dependencies. node examples/device-cli/main.ts "Why is the sky blue?"

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  randomUUID,
  sign,
} from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

const { SVC_URL = 'http://localhost:8080', CLIENT_ID = '' } = process.env
const TOKEN_FILE = process.env['TOKEN_FILE'] ?? path.join(homedir(), '.svc-device-cli.json')
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

type Tokens = { access_token: string; refresh_token: string }
/** The refresh token works only together with the key (DPoP). */
type Kept = { refresh_token: string; key: string }
type Fault = { error: string; error_description: string }

const question = process.argv.slice(2).join(' ') || 'Say hello.'
try {
  await ask(await openSession())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

/** An access token: by the refresh token of last time, or by signing in. */
async function openSession(): Promise<string> {
  const kept = readKept()
  if (kept) {
    const { refresh_token } = kept
    const reply = await post(
      '/oauth/token',
      { grant_type: 'refresh_token', refresh_token },
      kept.key,
    )
    if (reply.ok) return keep((await reply.json()) as Tokens, kept.key)
    const { error, error_description } = (await reply.json()) as Fault
    // Anything else passes, and the token is as good as before.
    if (error !== 'invalid_grant') throw new Error(error_description)
    // Disconnected by the user, or not used for a month: begin again.
    rmSync(TOKEN_FILE)
  }
  return await signIn()
}

async function signIn(): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const code_verifier = randomBytes(32).toString('base64url')
  const asked = await post('/oauth/device_authorization', {
    scope: 'credits.read credits.spend',
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  if (!asked.ok) throw new Error(((await asked.json()) as Fault).error_description)
  const device = (await asked.json()) as {
    device_code: string
    user_code: string
    verification_uri: string
    interval: number
  }
  console.log(`Open ${device.verification_uri} on any device and type ${device.user_code}\n`)
  const poll = { grant_type: DEVICE_GRANT, device_code: device.device_code, code_verifier }
  let wait_s = device.interval
  for (;;) {
    await sleep(wait_s * 1000)
    const reply = await post('/oauth/token', poll, key)
    if (reply.ok) return keep((await reply.json()) as Tokens, key)
    const { error, error_description } = (await reply.json()) as Fault
    if (error === 'slow_down') wait_s += 5
    // The codes end after ten minutes, and with them the loop: then the error is expired_token.
    else if (error !== 'authorization_pending') throw new Error(error_description)
  }
}

async function post(url: string, fields: Record<string, string>, key?: string): Promise<Response> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...fields })
  const headers = { 'user-agent': 'device-cli/1.0', ...(key && { DPoP: makeProof(key, url) }) }
  return await fetch(SVC_URL + url, { method: 'POST', headers, body })
}

/** Shows that we have the key, for this one request (RFC 9449). */
function makeProof(key: string, url: string): string {
  const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' })
  const head = { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } }
  const iat = Math.floor(Date.now() / 1000)
  const claims = { jti: randomUUID(), htm: 'POST', htu: SVC_URL + url, iat }
  const text = [head, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signer = { key: createPrivateKey(key), dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign('sha256', Buffer.from(text), signer).toString('base64url')}`
}

/** A refresh token is good once. The file is whole at any time, and only its owner can read it. */
function keep({ access_token, refresh_token }: Tokens, key: string): string {
  const kept: Kept = { refresh_token, key }
  const draft = `${TOKEN_FILE}.new`
  rmSync(draft, { force: true })
  writeFileSync(draft, JSON.stringify(kept), { mode: 0o600, flag: 'wx' })
  renameSync(draft, TOKEN_FILE)
  return access_token
}

function readKept(): Kept | undefined {
  try {
    return JSON.parse(readFileSync(TOKEN_FILE, 'utf8')) as Kept
  } catch {
    return undefined
  }
}

type Chunk = {
  choices: { delta: { content?: string } }[]
  svc?: { credits_used: number; balance_after: number }
}

/** Read as lines, because the cost is in a line after [DONE], where client libraries have stopped reading. */
async function ask(token: string): Promise<void> {
  const reply = await fetch(`${SVC_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      stream: true,
      messages: [{ role: 'user', content: question }],
    }),
  })
  if (!reply.ok || !reply.body) {
    const { error } = (await reply.json()) as { error: { message: string; hint?: string } }
    throw new Error(`${error.message} ${error.hint ?? ''}`)
  }
  for await (const line of createInterface({ input: Readable.from(reply.body) })) {
    if (!line.startsWith('data: {')) continue
    const { choices, svc } = JSON.parse(line.slice('data: '.length)) as Chunk
    process.stdout.write(choices[0]?.delta.content ?? '')
    if (svc)
      console.log(`\n\nThat cost ${svc.credits_used} credits; ${svc.balance_after} are left.`)
  }
}
