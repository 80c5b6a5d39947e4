// What the tests need to talk to the sandbox like a client that knows nothing of it: requests, a
// reader for server-sent events written from their specification, and access to unknown JSON.

import assert from 'node:assert/strict'
import { listOf, objectOf, parseJson } from './json.ts'

export type Answered = { status: number; headers: Headers; text: string; body: unknown }
export type SentEvent = { event: string | undefined; data: string; body: unknown }

export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<Answered> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return await readAnswer(response)
}

export async function get(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Answered> {
  return await readAnswer(await fetch(url, { headers }))
}

export async function readAnswer(response: Response): Promise<Answered> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parseJson(text) }
}

/** Events are separated by empty lines; lines may end in any of three ways; colons start comments. */
export function readEvents(text: string): SentEvent[] {
  const blocks = text.replaceAll('\r\n', '\n').split('\n\n')
  return blocks.flatMap((block) => {
    const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith(':'))
    if (lines.length === 0) return []
    const event = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length)
    const data = lines
      .filter((line) => line.startsWith('data: '))
      .map((line) => line.slice('data: '.length))
      .join('\n')
    return [{ event, data, body: parseJson(data) }]
  })
}

/** The value at a path such as `choices.0.message.content`. */
export function dig(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner, step) => {
    return Array.isArray(inner) ? listOf(inner)[Number(step)] : objectOf(inner)[step]
  }, value)
}

export function digNumber(value: unknown, path: string): number {
  const found = dig(value, path)
  assert.equal(typeof found, 'number', `${path} is a number`)
  return Number(found)
}

export function digText(value: unknown, path: string): string {
  const found = dig(value, path)
  assert.ok(typeof found === 'string', `${path} is a text`)
  return found
}

export function keysOf(value: unknown): string[] {
  return Object.keys(objectOf(value))
}

/** Long enough to be cached everywhere: about 6,000 tokens. */
export const LONG_TEXT = 'A sentence that is repeated until a cache takes notice. '.repeat(430)
