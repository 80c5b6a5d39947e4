// Sends mail through SMTP, or keeps it as a file where there is no mail server.

import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createTransport, type Transporter } from 'nodemailer'

export type Mail = { to: string; subject: string; text: string; html: string }

export type Mailer = {
  /** Where the mail went: a file's path, or nothing to see. Throws when it could not be handed over. */
  send(mail: Mail): Promise<{ kept_in?: string }>
  close(): void
}

const CONNECT_TIMEOUT_MS = 10_000
const SOCKET_TIMEOUT_MS = 20_000

export function createMailer(options: {
  smtp_url: string | undefined
  from: string
  folder: string
}): Mailer {
  if (options.smtp_url !== undefined) return smtpMailer(options.smtp_url, options.from)
  return fileMailer(options.folder, options.from)
}

function smtpMailer(url: string, from: string): Mailer {
  const transport = createTransport(url, { from }) as Transporter
  Object.assign(transport.options, {
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
  })
  return {
    async send(mail) {
      await transport.sendMail(mail)
      return {}
    },
    close: () => transport.close(),
  }
}

function fileMailer(folder: string, from: string): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true }, { from })
  return {
    async send(mail) {
      const { message } = await transport.sendMail(mail)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const name = `${new Date().toISOString().replaceAll(':', '-')}-${Math.random().toString(36).slice(2, 8)}.eml`
      const kept_in = path.join(folder, name)
      await writeFile(kept_in, message as Buffer, { mode: 0o600 })
      return { kept_in }
    },
    close: () => {},
  }
}
