import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { ConfigError, loadConfig } from './config.ts'
import { isSignedBy } from './keys/scanner-signature.ts'
import { readScannerKeys } from './scanner-keys.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-scanner-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const read = (SECRET_SCANNING_KEYS: string) => readScannerKeys(loadConfig({ SECRET_SCANNING_KEYS }))
const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pemOf = ({ publicKey }: Pick<ReturnType<typeof pair>, 'publicKey'>) =>
  publicKey.export({ type: 'spki', format: 'pem' })

test('keys are read from PEM, from PEM in one line, and from a file with what GitHub answers', () => {
  const [one, two] = [pair(), pair()]
  const file = path.join(folder, 'github.json')
  const public_keys = [one, two].map((key) => ({ key: pemOf(key), is_current: true }))
  writeFileSync(file, JSON.stringify({ public_keys }))
  const body = '[{"token":"x"}]'
  const signature = sign('sha256', Buffer.from(body), { key: two.privateKey, dsaEncoding: 'der' })
  const signed = { body, signature: signature.toString('base64') }
  for (const given of [file, pemOf(one) + pemOf(two), pemOf(two).replaceAll('\n', '\\n')]) {
    assert.equal(isSignedBy(read(given), signed), true)
    assert.equal(isSignedBy(read(given), { ...signed, body: `${body} ` }), false)
  }
  assert.equal(isSignedBy(read(pemOf(one)), signed), false)
  assert.deepEqual(read(''), [])
})

test('what holds no such key stops the start with one line', () => {
  const rsa = pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }))
  for (const given of ['/no/such/file', rsa, '-----BEGIN nothing', pemOf(pair()).repeat(21)]) {
    assert.throws(
      () => read(given),
      (error) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, /^SECRET_SCANNING_KEYS=".+" is not allowed: expected P-256/)
        return true
      },
    )
  }
})
