import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { freePort } from '../../test/support/redis.ts'
import { parseMail, startSmtp, type TestSmtp } from '../../test/support/smtp.ts'
import { createMailer, type Mail } from './mail.ts'

const FROM = 'Svc <no-reply@svc.test>'

const MAIL: Mail = {
  to: 'ada@example.com',
  subject: 'Prove your address – 证明',
  text: 'Open http://localhost/verify?token=svc_verify_abc=1&x=ü\nSoon.',
  html: '<p>Open <a href="http://localhost/verify?token=svc_verify_abc=1&amp;x=ü">this</a>.</p>',
}

describe('with a mail server', () => {
  let smtp: TestSmtp

  before(async () => {
    smtp = await startSmtp()
  })

  test('a mail arrives with sender, recipient, subject, text and HTML', async (t) => {
    assert.deepEqual(await open(t, smtp.url).send(MAIL), {})
    const mail = smtp.mails.at(-1)
    assert.deepEqual(mail?.envelope, { from: 'no-reply@svc.test', to: ['ada@example.com'] })
    assert.deepEqual(mail.headers.get('from'), [FROM])
    assert.deepEqual(mail.headers.get('to'), ['ada@example.com'])
    assert.equal(decodeHeader(mail.headers.get('subject')?.[0] ?? ''), MAIL.subject)
    assert.equal(mail.text.trimEnd().replaceAll('\r\n', '\n'), MAIL.text)
    assert.equal(mail.html.trimEnd(), MAIL.html)
  })

  test('a server that refuses makes the sending fail, and the next mail is tried anew', async (t) => {
    const mailer = open(t, smtp.url)
    smtp.refuse()
    await assert.rejects(mailer.send(MAIL), /mailbox full/)
    smtp.refuse(false)
    await mailer.send({ ...MAIL, to: 'after@example.com' })
    assert.deepEqual(smtp.mails.at(-1)?.envelope.to, ['after@example.com'])
  })

  test('a server that is not there makes the sending fail', async (t) => {
    const mailer = open(t, `smtp://127.0.0.1:${await freePort()}`)
    await assert.rejects(mailer.send(MAIL), { code: 'ESOCKET' })
  })

  test('a server that accepts and says nothing makes the sending fail in time', async (t) => {
    const silent = await startSilentServer(t)
    const mailer = open(t, silent, { timeout_ms: 100 })
    const started = performance.now()
    await assert.rejects(mailer.send(MAIL), { code: 'ETIMEDOUT' })
    assert.ok(performance.now() - started < 2_000)
  })

  test('a server that falls silent after its greeting makes the sending fail in time', async (t) => {
    const silent = await startSilentServer(t, '220 hello\r\n')
    const mailer = open(t, silent, { timeout_ms: 100 })
    const started = performance.now()
    await assert.rejects(mailer.send(MAIL), { code: 'ETIMEDOUT' })
    assert.ok(performance.now() - started < 2_000)
  })

  test('line ends and other tricks in an address add neither a header nor a recipient', async (t) => {
    const mailer = open(t, smtp.url)
    const tricks = [
      'ada@example.com\r\nBcc: eve@evil.test',
      'ada@example.com\nBcc: eve@evil.test',
      'ada@example.com\rBcc: eve@evil.test',
      'ada@example.com, eve@evil.test',
      'ada@example.com; eve@evil.test',
      'ada@example.com>\r\nRCPT TO:<eve@evil.test',
      '"eve@evil.test" <ada@example.com>',
      'list: ada@example.com, eve@evil.test;',
      'ada@example.com\r\n\r\nanother body',
    ]
    for (const to of tricks) {
      const count = smtp.mails.length
      await mailer.send({ ...MAIL, to }).catch(() => {})
      for (const mail of smtp.mails.slice(count)) {
        const shown = `${JSON.stringify(to)} -> ${JSON.stringify(mail.envelope)}`
        assert.equal(mail.headers.has('bcc'), false, shown)
        assert.ok(mail.envelope.to.length <= 1, shown)
        assert.ok(!mail.envelope.to.includes('eve@evil.test'), shown)
        assert.equal(mail.text.trimEnd().replaceAll('\r\n', '\n'), MAIL.text, shown)
      }
    }
  })

  test('a line end in a subject adds no header', async (t) => {
    await open(t, smtp.url).send({ ...MAIL, subject: 'hello\r\nBcc: eve@evil.test\r\n\r\nbody' })
    const mail = smtp.mails.at(-1)
    assert.equal(mail?.headers.has('bcc'), false)
    assert.deepEqual(mail?.envelope.to, ['ada@example.com'])
  })
})

describe('without a mail server', () => {
  test('a mail is kept as a file that only its owner can read, and that holds the link', async (t) => {
    const folder = path.join(makeFolder(t), 'mail')
    const mailer = createMailer({ smtp_url: undefined, from: FROM, folder })
    const { kept_in = '' } = await mailer.send(MAIL)
    assert.deepEqual(readdirSync(folder), [path.basename(kept_in)])
    assert.equal(path.dirname(kept_in), folder)
    assert.equal(statSync(kept_in).mode & 0o777, 0o600)
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    const kept = parseMail(readFileSync(kept_in, 'utf8'))
    assert.deepEqual(kept.headers.get('to'), ['ada@example.com'])
    assert.deepEqual(kept.headers.get('from'), [FROM])
    assert.ok(kept.text.includes('http://localhost/verify?token=svc_verify_abc=1&x=ü'))
    assert.equal(kept.html.trimEnd(), MAIL.html)
  })

  test('each mail gets a file of its own, in the order of sending', async (t) => {
    const folder = makeFolder(t)
    const mailer = createMailer({ smtp_url: undefined, from: FROM, folder })
    const subjects = ['first', 'second', 'third']
    for (const subject of subjects) {
      await mailer.send({ ...MAIL, subject })
      const sent_at = Date.now()
      while (Date.now() === sent_at) await new Promise((resolve) => setImmediate(resolve))
    }
    const kept = readdirSync(folder)
      .sort()
      .map((name) => parseMail(readFileSync(path.join(folder, name), 'utf8')))
    assert.deepEqual(
      kept.flatMap((mail) => mail.headers.get('subject')),
      subjects,
    )
  })

  test('an address cannot choose where the file goes, nor add a header', async (t) => {
    const folder = makeFolder(t)
    const mailer = createMailer({ smtp_url: undefined, from: FROM, folder })
    const to = '../../ada@example.com\r\nBcc: eve@evil.test'
    const { kept_in = '' } = await mailer.send({ ...MAIL, to })
    assert.equal(path.dirname(kept_in), folder)
    assert.equal(parseMail(readFileSync(kept_in, 'utf8')).headers.has('bcc'), false)
  })

  test('a folder that cannot be written makes the sending fail', async (t) => {
    const file = path.join(makeFolder(t), 'file')
    const mailer = createMailer({ smtp_url: undefined, from: FROM, folder: path.dirname(file) })
    const { kept_in = '' } = await mailer.send(MAIL)
    const blocked = createMailer({ smtp_url: undefined, from: FROM, folder: kept_in })
    await assert.rejects(blocked.send(MAIL), { code: /EEXIST|ENOTDIR/ })
  })
})

function open(t: TestContext, smtp_url: string, options: { timeout_ms?: number } = {}) {
  const mailer = createMailer({ smtp_url, from: FROM, folder: 'unused', ...options })
  t.after(() => mailer.close())
  return mailer
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-mail-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Takes connections, perhaps says one line, and then nothing more. */
async function startSilentServer(t: TestContext, greeting?: string): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (greeting !== undefined) socket.write(greeting)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** RFC 2047 words of either kind. */
function decodeHeader(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_all, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('latin1')
        : text
            .replaceAll('_', ' ')
            .replace(/=([0-9A-F]{2})/gi, (_hex, hex: string) =>
              String.fromCharCode(Number.parseInt(hex, 16)),
            ),
    )
    .replace(/[\s\S]+/, (bytes) => Buffer.from(bytes, 'latin1').toString('utf8'))
}
