// Bytes and text as the protocols write them.

export function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

export function utf8(text: string) {
  return new TextEncoder().encode(text)
}

export function base64url(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
