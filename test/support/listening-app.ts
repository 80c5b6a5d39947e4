// The whole application of test/support/app.ts on a real port, which its issuer names: what OAuth libraries
// need. And a browser without a screen that reaches it, or anything else, through sockets.

import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { createApp, type TestApp } from './app.ts'
import { csrfOf, type Person, requiredCapOf, Visitor } from './oauth.ts'

/** `host`: passkeys want a name, which an address of numbers is not. */
export async function createListeningApp(
  settings: Record<string, string> = {},
  host: '127.0.0.1' | 'localhost' = '127.0.0.1',
) {
  const port = await findFreePort()
  const address = `http://${host}:${port}`
  const service = await createApp({ settings: { PUBLIC_URL: address, ...settings } })
  await service.app.listen({ port, host: '127.0.0.1' })
  return { ...service, address }
}

/** A visitor of one origin whose requests go through sockets. */
export function visitOverHttp(origin: string): Visitor {
  // Of a reply only what a browser has is there.
  const request = (given: Parameters<TestApp['request']>[0]) =>
    sendOverHttp(origin, given) as unknown as ReturnType<TestApp['request']>
  return new Visitor({ request })
}

/** Somebody signs in at the address an app sent them to and allows it; answers where they are sent back to. */
export async function consentAt(
  service: { address: string },
  user: Pick<Person, 'email'>,
  url: string,
  fields: Record<string, string> = {},
): Promise<URL> {
  const visitor = visitOverHttp(service.address)
  const target = new URL(url)
  if (target.origin !== service.address) throw new Error(`${url} is not at ${service.address}`)
  const login = await visitor.get(`${target.pathname}${target.search}`)
  const entered = await visitor.login(user.email, new URL(header(login, 'location'), url).search)
  const address = header(entered, 'location')
  const page = await visitor.get(address)
  const shown = { csrf: csrfOf(page.body), ...requiredCapOf(page.body) }
  const back = await visitor.submit(address, { ...shown, decision: 'allow', ...fields })
  return new URL(header(back, 'location'))
}

function header(reply: { headers: Record<string, unknown>; body: string }, name: string): string {
  const value = reply.headers[name]
  if (typeof value !== 'string') throw new Error(`no ${name}: ${reply.body}`)
  return value
}

type Given = { method?: string; url?: unknown; headers?: unknown; payload?: unknown }

async function sendOverHttp(origin: string, given: Given) {
  const request = http.request(new URL(String(given.url), origin), {
    method: given.method ?? 'GET',
    headers: given.headers as http.OutgoingHttpHeaders,
    agent: false,
  })
  request.end(given.payload as string | undefined)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { statusCode: response.statusCode ?? 0, headers: response.headers, body }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
