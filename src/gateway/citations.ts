// Documents that Claude is asked to cite from, and what that adds to a prompt. Only Anthropic's own format can ask
// for it, so they are looked for in the client's own body.

import type { ChatRequest } from './dialects/chat-types.ts'
import { type JsonRecord, listOf, recordOf, textOf } from './upstreams/json-values.ts'

/** Instructions for citing, and what numbers each document and each of its sentences. */
const CITING_TOKENS = { safe: 900, close: 450 }
const DOCUMENT_TOKENS = { safe: 32, close: 16 }
const SENTENCE_TOKENS = { safe: 12, close: 6 }
const SENTENCE_ENDS = /[.!?\n\u3002\uff01\uff1f]/g

/** Beside the documents themselves. */
export function citingTokens(
  original: ChatRequest['original'] | undefined,
  accuracy: 'close' | 'safe',
): number {
  const blocks = original ? citedBlocks(original) : []
  if (blocks.length === 0) return 0
  let sentences = 0
  for (const text of blocks.flatMap(citedTexts)) {
    sentences += 1 + (text.match(SENTENCE_ENDS)?.length ?? 0)
  }
  return (
    CITING_TOKENS[accuracy] +
    DOCUMENT_TOKENS[accuracy] * blocks.length +
    SENTENCE_TOKENS[accuracy] * sentences
  )
}

/** The blocks with citations switched on, wherever they stand. */
export function citedBlocks({ dialect, body }: ChatRequest['original']): JsonRecord[] {
  if (dialect !== 'anthropic') return []
  return listOf(body['messages']).flatMap((message) => citedIn(recordOf(message)['content']))
}

function citedIn(content: unknown): JsonRecord[] {
  return listOf(content).flatMap((item) => {
    const block = recordOf(item)
    if (block['type'] === 'tool_result') return citedIn(block['content'])
    return recordOf(block['citations'])['enabled'] === true ? [block] : []
  })
}

/** What can be cited, sentence by sentence. Of a PDF only the provider sees the text. */
function citedTexts(block: JsonRecord): string[] {
  const source = recordOf(block['source'])
  const content = block['type'] === 'search_result' ? block['content'] : source['content']
  const texts = typeof content === 'string' ? [content] : listOf(content).map(blockText)
  return [textOf(source['data']), ...texts]
}

function blockText(block: unknown): string {
  return textOf(recordOf(block)['text'])
}
