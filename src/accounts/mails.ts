// The words of our mails. Plain text first; the HTML says the same.

import { html, htmlText } from '../http/html.ts'
import type { Mail } from '../platform/mail.ts'
import type { ProofPurpose } from './store.ts'

type Words = {
  subject: string
  path: string
  why: string
  action: string
  until: string
  ignore: string
}

const WORDS: Record<ProofPurpose, Words> = {
  verify_email: {
    subject: 'Confirm your email address',
    path: '/auth/verify',
    why: 'Please confirm that this address is yours.',
    action: 'Confirm address',
    until:
      'The link works once, for 24 hours. The page asks for your password if you are not signed in.',
    ignore: 'If you did not create an account, nothing happens when you ignore this mail.',
  },
  reset_password: {
    subject: 'Set a new password',
    path: '/auth/reset-password',
    why: 'Somebody, hopefully you, asked to set a new password for your account.',
    action: 'Set a new password',
    until: 'The link works once, for one hour. All your sessions end when it is used.',
    ignore: 'If it was not you, ignore this mail: your password stays as it is.',
  },
  change_email_from: {
    subject: 'Your account is to have another address',
    path: '/account/email/confirm',
    why: 'Somebody, hopefully you, asked to change the email address of your account. It stays as it is until you and the new address have agreed.',
    action: 'Allow it, or stop it',
    until: 'The link works once, for 24 hours.',
    ignore:
      'If it was not you, stop it with the link and change your password: somebody is signed in to your account.',
  },
  change_email_to: {
    subject: 'Confirm your new email address',
    path: '/account/email/confirm',
    why: 'Somebody, hopefully you, asked to use this address for an account.',
    action: 'Confirm the address',
    until: 'The link works once, for 24 hours.',
    ignore: 'If it was not you, ignore this mail: nothing happens.',
  },
}

export function composeMail(options: {
  to: string
  purpose: ProofPurpose
  token: string
  public_url: string
}): Mail {
  const words = WORDS[options.purpose]
  const link = proofLink(options)
  return {
    to: options.to,
    subject: words.subject,
    text: `${words.why}\n\n${link}\n\n${words.until}\n${words.ignore}\n`,
    html: htmlText(html`<p>${words.why}</p>
<p><a href="${link}">${words.action}</a></p>
<p>${words.until}<br>${words.ignore}</p>`),
  }
}

/** What the mail of a proof leads to. */
export function proofLink(options: {
  purpose: ProofPurpose
  token: string
  public_url: string
}): string {
  return `${options.public_url}${WORDS[options.purpose].path}?token=${options.token}`
}

/** Words without a link to click: paragraphs, with an empty line between them. */
export function composeNotice(notice: { to: string; subject: string; words: string }): Mail {
  const { to, subject, words } = notice
  const paragraphs = words.split('\n\n').map((paragraph) => html`<p>${paragraph}</p>`)
  return { to, subject, text: `${words}\n`, html: htmlText(html`${paragraphs}`) }
}
