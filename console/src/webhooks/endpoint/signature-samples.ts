// Whether a request comes from this service, in four languages: HMAC-SHA256 of the raw body, in constant time, with the
// secret before and the new one while it is being replaced. A test runs those whose language is installed.

const NODE = `import { createHmac, timingSafeEqual } from 'node:crypto'

// body: the bytes as they arrived, not parsed and written again
export function isFromSvc(body, headers, secret) {
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'))
  const given = [headers['x-svc-signature'], headers['x-svc-signature-next']]
  return given.some((one) => {
    const signature = Buffer.from(one ?? '')
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  })
}`

const PYTHON = `import hashlib
import hmac


# body: the bytes as they arrived, not parsed and written again
def is_from_svc(body: bytes, headers, secret: str) -> bool:
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()
    names = ("X-Svc-Signature", "X-Svc-Signature-Next")
    given = [(headers.get(name) or "").encode() for name in names]
    return any(hmac.compare_digest(one, expected) for one in given)`

const GO = `package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// body: the bytes as they arrived, not parsed and written again
func IsFromSvc(body []byte, headers http.Header, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	for _, name := range []string{"X-Svc-Signature", "X-Svc-Signature-Next"} {
		if hmac.Equal([]byte(headers.Get(name)), expected) {
			return true
		}
	}
	return false
}`

const PHP = `<?php

// is_from_svc(file_get_contents('php://input'), $_SERVER, getenv('WEBHOOK_SECRET'))
// $body: the bytes as they arrived, not parsed and written again
function is_from_svc(string $body, array $server, string $secret): bool
{
    $expected = hash_hmac('sha256', $body, $secret);
    foreach (['HTTP_X_SVC_SIGNATURE', 'HTTP_X_SVC_SIGNATURE_NEXT'] as $name) {
        if (hash_equals($expected, $server[$name] ?? '')) {
            return true;
        }
    }
    return false;
}`

export const SIGNATURE_SAMPLES = [
  { language: 'Node', code: NODE },
  { language: 'Python', code: PYTHON },
  { language: 'Go', code: GO },
  { language: 'PHP', code: PHP },
]
