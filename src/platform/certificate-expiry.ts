// When the certificate expired that a TLS handshake failed on. Node closes the socket before its error is seen, so the
// certificate is kept from the moment before Node judges it.

import type { X509Certificate } from 'node:crypto'
import { TLSSocket } from 'node:tls'

const EXPIRED = 'CERT_HAS_EXPIRED'

const certificates = new WeakMap<TLSSocket, X509Certificate>()

export class ExpiredCertificate extends Error {
  readonly code = EXPIRED
  readonly expired_at: Date

  constructor(expired_at: Date, cause: Error) {
    super('the certificate has expired', { cause })
    this.name = 'ExpiredCertificate'
    this.expired_at = expired_at
  }
}

export function noteCertificate(socket: unknown): void {
  if (!(socket instanceof TLSSocket)) return
  // Before the listener with which Node judges it.
  socket.prependOnceListener('secure', () => {
    const certificate = socket.getPeerX509Certificate()
    if (certificate) certificates.set(socket, certificate)
  })
}

/** The error itself, unless more is known about it. */
export function withExpiry(error: Error, socket: unknown): Error {
  if (!('code' in error) || error.code !== EXPIRED || !(socket instanceof TLSSocket)) return error
  const expired_at = certificates.get(socket)?.validToDate
  return expired_at ? new ExpiredCertificate(expired_at, error) : error
}
