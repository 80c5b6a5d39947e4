// The prompt of a messages request as one text, block by block, and prompt caching on it. Caching
// follows the marks: what lies before a mark is written once and read afterwards; a later request is
// matched at the end of any of its blocks, so a grown conversation still finds its older part.

import { createHash } from 'node:crypto'
import { isAbsent, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { countPages, mediaFiller } from '../media.ts'
import { isCached, type PromptCache, rememberPrefix } from '../prompt-cache.ts'
import { countPrefixes, countTokens } from '../tokens.ts'
import { citationInstructions, citationMarks } from './citations.ts'
import { findClientTool } from './client-tools.ts'
import { blocksOf } from './messages.ts'
import type { AnthropicModel } from './models.ts'

const IMAGE_TOKENS = 1_600
const PAGE_TOKENS = 2_000
const LIVES_MS = { '5m': 5 * 60_000, '1h': 60 * 60_000 }

type Life = keyof typeof LIVES_MS
type Piece = { text: string; life?: Life }

export type InputUsage = {
  /** Neither read from the cache nor written to it. */
  input_tokens: number
  cache_read_input_tokens: number
  cache_creation_5m: number
  cache_creation_1h: number
}

export function renderPieces(body: JsonObject, model: AnthropicModel): readonly Piece[] {
  const tools = listOf(body['tools']).map(objectOf)
  const forced = ['any', 'tool'].includes(textOf(objectOf(body['tool_choice'])['type']))
  const [choosing_tokens, forced_tokens] = model.tool_tokens
  const instructions = mediaFiller('tools', forced ? forced_tokens : choosing_tokens)
  const citing = citationInstructions(body)
  const pieces = [
    ...(tools.length > 0 ? [{ text: instructions }] : []),
    ...tools.map((tool) => piece(renderTool(tool), tool)),
    ...(citing === '' ? [] : [{ text: citing }]),
    ...blocksOf(body['system']).map((block) => piece(textOf(block['text']), block)),
    ...listOf(body['messages']).flatMap((message) => renderMessage(objectOf(message))),
  ]
  const automatic = readLife(body['cache_control'])
  if (automatic === undefined) return pieces
  return pieces.map((part, at) => (at === pieces.length - 1 ? { life: automatic, ...part } : part))
}

export function promptText(pieces: readonly Piece[]): string {
  return pieces.map((part) => part.text).join('')
}

/** Finds what was cached, remembers what is marked, and splits the prompt's tokens accordingly. */
export function useMarkedCache(
  cache: PromptCache,
  prompt: { scope: string; pieces: readonly Piece[]; least_tokens: number },
): InputUsage {
  const { scope, pieces, least_tokens } = prompt
  const total_tokens = countTokens(promptText(pieces))
  const last_mark = pieces.findLastIndex((part) => part.life !== undefined)
  const ends = measurePrefixes(pieces.slice(0, last_mark + 1), scope)
  const usage = { cache_read_input_tokens: 0, cache_creation_5m: 0, cache_creation_1h: 0 }
  const long = ends.filter((end) => end.tokens >= least_tokens)
  const hit = long.findLast((end) => isCached(cache, end.key))
  let covered_tokens = hit?.tokens ?? 0
  usage.cache_read_input_tokens = covered_tokens
  for (const { key, tokens, life } of long) {
    if (life === undefined) continue
    rememberPrefix(cache, key, LIVES_MS[life])
    const written = Math.max(tokens - covered_tokens, 0)
    usage[life === '1h' ? 'cache_creation_1h' : 'cache_creation_5m'] += written
    covered_tokens += written
  }
  return { ...usage, input_tokens: total_tokens - covered_tokens }
}

/** One walk for all blocks: a long conversation has thousands, and each prefix contains the last. */
function measurePrefixes(pieces: readonly Piece[], scope: string) {
  const hash = createHash('sha256').update(scope)
  const keys = pieces.map((part) => hash.update(part.text).copy().digest('hex'))
  let length = 0
  const lengths = pieces.map((part) => {
    length += part.text.length
    return length
  })
  const tokens = countPrefixes(promptText(pieces), lengths)
  return pieces.map(({ life }, at) => ({ key: keys[at] ?? '', tokens: tokens[at] ?? 0, life }))
}

function renderTool(tool: JsonObject): string {
  const hidden_tokens = findClientTool(tool)?.tokens ?? 0
  const text = JSON.stringify({ ...tool, cache_control: undefined })
  return text + mediaFiller(textOf(tool['type']), hidden_tokens)
}

function renderMessage(message: JsonObject): Piece[] {
  const blocks = blocksOf(message['content'])
  return blocks.map((block, at) => {
    const role = at === 0 ? `${textOf(message['role'])}\n` : ''
    const end = at === blocks.length - 1 ? '\n\n' : '\n'
    return piece(`${role}${renderBlock(block)}${end}`, block)
  })
}

function renderBlock(block: JsonObject): string {
  switch (block['type']) {
    case 'text':
      return textOf(block['text'])
    case 'image':
      return mediaFiller(JSON.stringify(block['source']), IMAGE_TOKENS)
    case 'document': {
      const text = renderDocument(objectOf(block['source']))
      return text + citationMarks(block, text)
    }
    case 'tool_result':
      return blocksOf(block['content']).map(renderBlock).join('\n')
    case 'thinking':
    case 'redacted_thinking':
      // Earlier thinking is taken out of the context before it is counted.
      return ''
    default:
      return JSON.stringify({ ...block, cache_control: undefined })
  }
}

function renderDocument(source: JsonObject): string {
  if (source['type'] === 'text') return textOf(source['data'])
  if (source['type'] === 'content') return blocksOf(source['content']).map(renderBlock).join('\n')
  const data = textOf(source['data'])
  return mediaFiller(JSON.stringify(source), countPages(data) * PAGE_TOKENS)
}

function piece(text: string, marked: JsonObject): Piece {
  const life = readLife(marked['cache_control'])
  return { text, ...(life !== undefined && { life }) }
}

function readLife(mark: unknown): Life | undefined {
  if (isAbsent(mark)) return undefined
  return objectOf(mark)['ttl'] === '1h' ? '1h' : '5m'
}
