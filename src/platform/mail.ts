// Sends mail through SMTP, or keeps it as a file where there is no mail server.

import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Transporter } from 'nodemailer'

export type Mail = { to: string; subject: string; text: string; html: string }

export type Mailer = {
  /** Where the mail went: a file's path, or nothing to see. Throws when it could not be handed over. */
  send(mail: Mail): Promise<{ kept_in?: string }>
  close(): void
}

const CONNECT_TIMEOUT_MS = 10_000
const SOCKET_TIMEOUT_MS = 20_000

/** Loaded with the first mail: most processes send none. */
const library = () => import('nodemailer')

export function createMailer(options: {
  smtp_url: string | undefined
  from: string
  folder: string
  /** How long a mail server may be silent. */
  timeout_ms?: number
}): Mailer {
  const { smtp_url, from, folder, timeout_ms } = options
  if (smtp_url !== undefined) return smtpMailer(smtp_url, from, timeout_ms)
  return fileMailer(folder, from)
}

function smtpMailer(url: string, from: string, timeout_ms?: number): Mailer {
  // Given to the transport at birth: its own time-outs are minutes, and it takes no others later.
  const settings = {
    url,
    connectionTimeout: timeout_ms ?? CONNECT_TIMEOUT_MS,
    greetingTimeout: timeout_ms ?? CONNECT_TIMEOUT_MS,
    socketTimeout: timeout_ms ?? SOCKET_TIMEOUT_MS,
  }
  let transport: Transporter | undefined
  return {
    async send(mail) {
      const { createTransport } = await library()
      transport ??= createTransport(settings, { from })
      await transport.sendMail({ ...mail, to: oneAddress(mail.to) })
      return {}
    },
    close: () => transport?.close(),
  }
}

function fileMailer(folder: string, from: string): Mailer {
  return {
    async send(mail) {
      const { createTransport } = await library()
      const transport = createTransport({ streamTransport: true, buffer: true }, { from })
      const { message } = await transport.sendMail({ ...mail, to: oneAddress(mail.to) })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const name = `${new Date().toISOString().replaceAll(':', '-')}-${Math.random().toString(36).slice(2, 8)}.eml`
      const kept_in = path.join(folder, name)
      await writeFile(kept_in, message as Buffer, { mode: 0o600 })
      return { kept_in }
    },
    close: () => {},
  }
}

/** Text would be read as a list of addresses; this is one, whatever commas it holds. */
function oneAddress(address: string): { name: string; address: string } {
  return { name: '', address }
}
