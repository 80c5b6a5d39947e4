// The tokenizer of every stand-in: a token is as many whole characters as fit into four UTF-8 bytes.
// That is close to the real ones for English, one token a character for Chinese, and simple enough
// to check by hand. Texts can be cut at any token and the parts join back to the whole.

import { createHash } from 'node:crypto'

const BYTES_PER_TOKEN = 4

export function countTokens(text: string): number {
  let tokens = 0
  for (let at = 0; at < text.length; at = tokenEnd(text, at)) tokens += 1
  return tokens
}

export function takeTokens(text: string, limit_tokens: number): string {
  let end = 0
  for (let tokens = 0; tokens < limit_tokens && end < text.length; tokens += 1) {
    end = tokenEnd(text, end)
  }
  return text.slice(0, end)
}

export function splitTokens(text: string): string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = tokenEnd(text, at)
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

/** Cuts a text as a stream would: now a few characters, now a few words. */
export function splitChunks(text: string): string[] {
  const sizes_tokens = [1, 3, 2, 5, 1, 4, 2, 6]
  const tokens = splitTokens(text)
  const chunks: string[] = []
  for (let at = 0; at < tokens.length; ) {
    const size = sizes_tokens[chunks.length % sizes_tokens.length] ?? 1
    chunks.push(tokens.slice(at, at + size).join(''))
    at += size
  }
  return chunks
}

/** A digest of the text up to every `step_tokens`-th token, without the text's last token. */
export function digestPrefixes(text: string, step_tokens: number): string[] {
  const digests: string[] = []
  const hash = createHash('sha256')
  let hashed = 0
  let tokens = 0
  for (let at = tokenEnd(text, 0); at < text.length; at = tokenEnd(text, at)) {
    tokens += 1
    if (tokens % step_tokens === 0) {
      hash.update(text.slice(hashed, at))
      hashed = at
      digests.push(hash.copy().digest('hex'))
    }
  }
  return digests
}

/** The tokens of each prefix of the text, given the prefixes' lengths in rising order. */
export function countPrefixes(text: string, lengths: readonly number[]): number[] {
  let at = 0
  let tokens = 0
  return lengths.map((length) => {
    // A token counts for a prefix as soon as it starts inside it.
    while (at < Math.min(length, text.length)) {
      at = tokenEnd(text, at)
      tokens += 1
    }
    return tokens
  })
}

function tokenEnd(text: string, start: number): number {
  let end = start
  let room_bytes = BYTES_PER_TOKEN
  while (end < text.length) {
    const point = text.codePointAt(end) ?? 0
    room_bytes -= utf8Bytes(point)
    if (room_bytes < 0) return end
    end += point > 0xffff ? 2 : 1
  }
  return end
}

function utf8Bytes(point: number): number {
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point < 0x10000 ? 3 : 4
}
