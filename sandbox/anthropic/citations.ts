// Citations: documents that ask for them make the prompt longer, because they are cut into sentences
// and the model is told how to cite, and the answer's text comes in pieces with their sources.

import { type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { countPages, mediaFiller } from '../media.ts'
import { type AnthropicError, invalid } from './errors.ts'
import { blocksOf } from './messages.ts'

// That citing costs input is documented, how much is not: these are near what was seen.
const INSTRUCTION_TOKENS = 400
const SENTENCE_TOKENS = 8
const SENTENCES_PER_PAGE = 10

export type Citation = { type: string; cited_text: string } & Readonly<
  Record<string, string | number | null>
>

export function checkCitations(body: JsonObject): AnthropicError | undefined {
  const wishes = new Set(citable(body).map(({ block }) => asksFor(block)))
  if (wishes.size < 2) return undefined
  return invalid('messages: citations must be enabled on all or none of the documents')
}

/** What the instructions add to the prompt, once, when anything may be cited. */
export function citationInstructions(body: JsonObject): string {
  const cited = citable(body).some(({ block }) => asksFor(block))
  return cited ? mediaFiller('citations', INSTRUCTION_TOKENS) : ''
}

/** What cutting one document into sentences adds to it. */
export function citationMarks(block: JsonObject, text: string): string {
  if (!asksFor(block)) return ''
  const source = objectOf(block['source'])
  const pdf = source['type'] === 'base64'
  const sentences = pdf
    ? countPages(textOf(source['data'])) * SENTENCES_PER_PAGE
    : splitSentences(text).length
  return mediaFiller('sentences', sentences * SENTENCE_TOKENS)
}

/** One source of the answer for each document that may be cited: its beginning. */
export function makeCitations(body: JsonObject): readonly Citation[] {
  return citable(body)
    .filter(({ block }) => asksFor(block))
    .map(({ block, index }) => cite(block, index))
}

type Citable = { block: JsonObject; index: number }

/** Documents in the order in which citations count them. */
function citable(body: JsonObject): readonly Citable[] {
  const messages = listOf(body['messages']).map(objectOf)
  const blocks = messages.flatMap((message) => blocksOf(message['content']))
  const inner = blocks.flatMap((block) => {
    return block['type'] === 'tool_result' ? blocksOf(block['content']) : [block]
  })
  return inner
    .filter((block) => block['type'] === 'document')
    .map((block, index) => ({ block, index }))
}

function asksFor(block: JsonObject): boolean {
  return objectOf(block['citations'])['enabled'] === true
}

function cite(block: JsonObject, document_index: number): Citation {
  const source = objectOf(block['source'])
  const title = textOf(block['title'])
  const where = { document_index, document_title: title === '' ? null : title, file_id: null }
  if (source['type'] === 'text') {
    const cited_text = splitSentences(textOf(source['data']))[0] ?? ''
    const range = { start_char_index: 0, end_char_index: cited_text.length }
    return { type: 'char_location', cited_text, ...where, ...range }
  }
  if (source['type'] === 'content') {
    const cited_text = textOf(blocksOf(source['content'])[0]?.['text'])
    return {
      type: 'content_block_location',
      cited_text,
      ...where,
      start_block_index: 0,
      end_block_index: 1,
    }
  }
  const cited_text = 'The first page.'
  return { type: 'page_location', cited_text, ...where, start_page_number: 1, end_page_number: 2 }
}

function splitSentences(text: string): readonly string[] {
  return text.match(/[^.!?\n]+[.!?\n]*\s*/g) ?? []
}
