// A command line tool whose user pays: prints an address to open, waits for the answer on a port of this
// machine, asks, prints the answer as it comes and what it cost. node examples/cli/main.ts "Why is the sky blue?"

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import * as oauth from 'oauth4webapi'

const { SVC_URL = 'http://localhost:8080', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
const PATIENCE_MS = 5 * 60_000

const question = process.argv.slice(2).join(' ') || 'Say hello.'
const client = { client_id: CLIENT_ID }
const secret = oauth.ClientSecretPost(CLIENT_SECRET)
// Plain http is for your own machine.
const options = { [oauth.allowInsecureRequests]: SVC_URL.startsWith('http:') }

const issuer = new URL(SVC_URL)
const discovery = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options })
const server = await oauth.processDiscoveryResponse(issuer, discovery)

const { access_token, refresh_token } = await signIn()
await ask(access_token)
// Nothing is kept: the next run asks again.
if (refresh_token !== undefined) {
  await oauth.revocationRequest(server, client, secret, refresh_token, options)
}

/** Any free port: Svc compares addresses of this machine without their port. */
async function signIn(): Promise<oauth.TokenEndpointResponse> {
  const loopback = createServer().listen(0, '127.0.0.1')
  await once(loopback, 'listening')
  const redirect_uri = `http://127.0.0.1:${(loopback.address() as AddressInfo).port}/callback`
  const state = oauth.generateRandomState()
  const code_verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(server.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    ...client,
    redirect_uri,
    response_type: 'code',
    scope: 'credits.spend',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: 'S256',
  }).toString()
  console.log(`Open this address to sign in:\n\n${url.href}\n`)
  const callback = await waitForCallback(loopback, redirect_uri)
  const answer = oauth.validateAuthResponse(server, client, callback, state)
  const reply = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    secret,
    answer,
    redirect_uri,
    code_verifier,
    options,
  )
  return await oauth.processAuthorizationCodeResponse(server, client, reply)
}

/** The first request for the callback's path is the answer; whatever else a browser asks for is not there. */
async function waitForCallback(
  loopback: ReturnType<typeof createServer>,
  redirect_uri: string,
): Promise<URL> {
  const waiting = AbortSignal.timeout(PATIENCE_MS)
  try {
    return await new Promise<URL>((resolve, reject) => {
      waiting.addEventListener('abort', () => reject(new Error('nobody came')))
      loopback.on('request', (request, response) => {
        const url = new URL(request.url ?? '/', redirect_uri)
        const found = url.pathname === '/callback'
        response.writeHead(found ? 200 : 404, { connection: 'close' })
        response.end(found ? 'Thank you. You can close this page.' : '')
        if (found) resolve(url)
      })
    })
  } finally {
    loopback.close()
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
    console.error(`${error.message} ${error.hint ?? ''}`)
    process.exitCode = 1
    return
  }
  for await (const line of createInterface({ input: Readable.from(reply.body) })) {
    if (!line.startsWith('data: {')) continue
    const { choices, svc } = JSON.parse(line.slice('data: '.length)) as Chunk
    process.stdout.write(choices[0]?.delta.content ?? '')
    if (svc)
      console.log(`\n\nThat cost ${svc.credits_used} credits; ${svc.balance_after} are left.`)
  }
}
