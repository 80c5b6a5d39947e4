// A real SMTP server on loopback that keeps what it is given, taken apart, and can refuse.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { atEnd } from './cleanup.ts'

export type ReceivedMail = {
  /** What the SMTP conversation said, whatever the headers claim. */
  envelope: { from: string; to: string[] }
  /** By lower-case name, unfolded; a name that came twice has two values. */
  headers: Map<string, string[]>
  text: string
  html: string
  raw: string
}

export type TestSmtp = Awaited<ReturnType<typeof startSmtp>>

export async function startSmtp() {
  const mails: ReceivedMail[] = []
  let refusing = false
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo(_address, _session, callback) {
      if (refusing) callback(Object.assign(new Error('mailbox full'), { responseCode: 452 }))
      else callback()
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const from = session.envelope.mailFrom
        mails.push({
          envelope: {
            from: from === false ? '' : from.address,
            to: session.envelope.rcptTo.map((one) => one.address),
          },
          ...parseMail(Buffer.concat(chunks).toString('utf8')),
        })
        callback()
      })
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await new Promise<void>((resolve) => server.close(resolve))
  }
  atEnd(close)
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    /** From now on every recipient is refused, or taken again. */
    refuse(value = true) {
      refusing = value
    },
    close,
  }
}

/** Takes a message of one or of several parts apart; enough MIME for the mails we send. */
export function parseMail(raw: string): Omit<ReceivedMail, 'envelope'> {
  const parts = partsOf(raw)
  const body = (type: string) =>
    parts.find((part) => headerOf(part.headers, 'content-type').startsWith(type))?.body ?? ''
  return {
    headers: splitHead(raw).headers,
    text: body('text/plain'),
    html: body('text/html'),
    raw,
  }
}

type Part = { headers: Map<string, string[]>; body: string }

function partsOf(raw: string): Part[] {
  const { headers, rest } = splitHead(raw)
  const boundary = headerOf(headers, 'content-type').match(/boundary="?([^";]+)/)?.[1]
  if (boundary === undefined) {
    return [{ headers, body: decode(rest, headerOf(headers, 'content-transfer-encoding')) }]
  }
  return rest
    .split(`--${boundary}`)
    .slice(1, -1)
    .flatMap((part) => partsOf(part.replace(/^\r\n/, '').replace(/\r\n$/, '')))
}

function splitHead(raw: string): { headers: Map<string, string[]>; rest: string } {
  const end = raw.indexOf('\r\n\r\n')
  const head = end < 0 ? raw : raw.slice(0, end)
  const headers = new Map<string, string[]>()
  for (const line of head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()])
  }
  return { headers, rest: end < 0 ? '' : raw.slice(end + 4) }
}

function headerOf(headers: Map<string, string[]>, name: string): string {
  return headers.get(name)?.[0] ?? ''
}

function decode(body: string, encoding: string): string {
  switch (encoding.toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64').toString('utf8')
    case 'quoted-printable': {
      const bytes = body
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_all, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        )
      return Buffer.from(bytes, 'latin1').toString('utf8')
    }
    default:
      return body
  }
}
