// The mail that tells an owner of an event: what, when, from where, and a link for “this was not me”. Only the words are
// queued; the token of the link is made when the mail is sent.

import { html, htmlText } from '../../http/html.ts'
import type { Mail } from '../../platform/mail.ts'
import { describeDevice, describePlace } from '../client.ts'
import { SECURITY_EVENTS, type SecurityEvent } from './event-kinds.ts'

const TIME = new Intl.DateTimeFormat('en', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})
const DETAIL_LENGTH_MAX = 200

export function alertWords(event: SecurityEvent): { subject: string; words: string } {
  const { kind, at, client, details = {} } = event
  const { says } = SECURITY_EVENTS[kind]
  const from =
    client === undefined
      ? ''
      : `\n\nFrom: ${describeDevice(client.user_agent)}, address ${client.ip} (${describePlace(client.ip)}).`
  const more = Object.entries(details).map(
    ([name, value]) => `\n\n${name.replaceAll('_', ' ')}: ${oneLine(String(value))}`,
  )
  return {
    subject: says,
    words: `${says}.\n\nWhen: ${TIME.format(at)} UTC.${from}${more.join('')}`,
  }
}

export function composeAlert(alert: {
  to: string
  subject: string
  words: string
  token: string
  public_url: string
}): Mail {
  const { to, subject, words, token, public_url } = alert
  const link = `${public_url}/auth/not-me?token=${token}`
  const ask = 'If this was you, there is nothing to do. If it was not:'
  const until =
    'The link works once, for 7 days. It leads to a button that ends every session, API key and connected app of the account, and its password, and sends a mail to set a new one.'
  const paragraphs = words.split('\n\n').map((paragraph) => html`<p>${paragraph}</p>`)
  return {
    to,
    subject,
    text: `${words}\n\n${ask}\n\n${link}\n\n${until}\n`,
    html: htmlText(html`${paragraphs}
<p>${ask}</p>
<p><a href="${link}">This was not me</a></p>
<p>${until}</p>`),
  }
}

/** What somebody named must not look like words of ours. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').slice(0, DETAIL_LENGTH_MAX)
}
