// Reads the content blocks of a message request. What only Anthropic has (plain-text documents, search
// results) becomes text for the others; Anthropic itself gets the client's own blocks.

import {
  type Fields,
  isAbsent,
  readArray,
  readChoice,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalChoice,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'
import type {
  AssistantPart,
  CacheHint,
  ChatMessage,
  MediaSource,
  TextPart,
  UserPart,
} from '../chat-types.ts'
import { readAddress, readBase64, readImageType } from '../media-source.ts'
import { withGoogleSignatures } from './signatures.ts'

const MAX_BLOCKS = 2_000

const FILE_HINT = 'Send the content itself, as base64.'

type ResultPart = TextPart | Extract<UserPart, { kind: 'image' | 'file' }>

export type BlocksOf = {
  role: 'user' | 'assistant'
  content: unknown
  path: string
  /** Of the calls so far: a result must answer one of them. Calls found here are added. */
  call_ids: Set<string>
}

export function readBlocks({ role, content, path, call_ids }: BlocksOf): ChatMessage {
  if (typeof content === 'string') {
    const silent = role === 'assistant' && content === ''
    return { role, content: silent ? [] : [{ kind: 'text', text: content }] }
  }
  const blocks = readContent(content, path)
  if (role === 'assistant') {
    const read = blocks.map(({ block, at }) => readAssistantBlock(block, at))
    const parts = withGoogleSignatures(read)
    for (const part of parts) if (part.kind === 'tool_call') call_ids.add(part.id)
    return { role, content: parts }
  }
  if (blocks.length === 0) refuse(path, 'must not be empty')
  const parts = blocks.flatMap(({ block, at }) => readUserBlock(block, at, call_ids))
  return { role, content: parts }
}

export function readSystem(content: unknown, path: string): TextPart[] {
  if (content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return readContent(content, path).map(({ block, at }) => {
    readChoice(block['type'], ['text'], `${at}.type`)
    return readTextBlock(block, at)
  })
}

export function readCacheHint(value: unknown, path: string): CacheHint | undefined {
  if (isAbsent(value)) return undefined
  const control = readObject(value, path)
  readChoice(control['type'], ['ephemeral'], `${path}.type`)
  return { ttl: readOptionalChoice(control['ttl'], ['5m', '1h'], `${path}.ttl`) ?? '5m' }
}

function readContent(content: unknown, path: string): { block: Fields; at: string }[] {
  if (isAbsent(content)) refuse(path, 'is missing')
  if (!Array.isArray(content)) refuse(path, 'must be a string or an array of blocks')
  return readArray(content, path, MAX_BLOCKS).map((entry, index) => {
    const at = `${path}[${index}]`
    return { block: readObject(entry, at), at }
  })
}

function readAssistantBlock(block: Fields, path: string): AssistantPart {
  const types = ['text', 'thinking', 'redacted_thinking', 'tool_use'] as const
  const type = readChoice(block['type'], types, `${path}.type`)
  switch (type) {
    case 'text':
      return readTextBlock(block, path)
    case 'thinking':
      return {
        kind: 'thinking',
        text: readText(block['thinking'], `${path}.thinking`),
        signature: readOptionalText(block['signature'], `${path}.signature`) ?? '',
      }
    case 'redacted_thinking':
      return { kind: 'redacted_thinking', data: readText(block['data'], `${path}.data`) }
    case 'tool_use':
      return {
        kind: 'tool_call',
        id: readName(block['id'], `${path}.id`),
        name: readName(block['name'], `${path}.name`),
        input: readObject(block['input'], `${path}.input`),
        ...readCache(block, path),
      }
  }
}

function readUserBlock(block: Fields, path: string, call_ids: ReadonlySet<string>): UserPart[] {
  const types = ['text', 'image', 'document', 'search_result', 'tool_result'] as const
  const type = readChoice(block['type'], types, `${path}.type`)
  if (type !== 'tool_result') return readResultBlock(block, path)
  const call_id = readName(block['tool_use_id'], `${path}.tool_use_id`)
  if (!call_ids.has(call_id)) {
    refuse(
      `${path}.tool_use_id`,
      'answers no tool_use of an earlier assistant message',
      'Send the assistant message with its `tool_use` block before the results.',
    )
  }
  const is_error = readOptionalBoolean(block['is_error'], `${path}.is_error`)
  return [
    {
      kind: 'tool_result',
      call_id,
      content: readResultContent(block['content'], `${path}.content`),
      ...(is_error !== undefined && { is_error }),
      ...readCache(block, path),
    },
  ]
}

function readResultContent(content: unknown, path: string): ResultPart[] {
  if (isAbsent(content) || content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return readContent(content, path).flatMap(({ block, at }) => readResultBlock(block, at))
}

function readResultBlock(block: Fields, path: string): ResultPart[] {
  const types = ['text', 'image', 'document', 'search_result'] as const
  const type = readChoice(block['type'], types, `${path}.type`)
  switch (type) {
    case 'text':
      return [readTextBlock(block, path)]
    case 'image':
      return [readImage(block, path)]
    case 'document':
      return readDocument(block, path)
    case 'search_result':
      return [readSearchResult(block, path)]
  }
}

function readTextBlock(block: Fields, path: string): TextPart {
  return { kind: 'text', text: readText(block['text'], `${path}.text`), ...readCache(block, path) }
}

function readImage(block: Fields, path: string): ResultPart {
  const at = `${path}.source`
  const source = readObject(block['source'], at)
  const type = readChoice(source['type'], ['base64', 'url', 'file'], `${at}.type`)
  if (type === 'file') refuse(`${at}.type`, 'is not supported', FILE_HINT)
  return {
    kind: 'image',
    source: type === 'url' ? readUrl(source, at) : readImageBytes(source, at),
    ...readCache(block, path),
  }
}

function readUrl(source: Fields, path: string): MediaSource {
  return readAddress(readText(source['url'], `${path}.url`), `${path}.url`)
}

function readImageBytes(source: Fields, path: string): MediaSource {
  const media_type = readText(source['media_type'], `${path}.media_type`)
  return {
    kind: 'data',
    media_type: readImageType(media_type, `${path}.media_type`),
    data: readBase64(readText(source['data'], `${path}.data`), `${path}.data`),
  }
}

function readDocument(block: Fields, path: string): ResultPart[] {
  const at = `${path}.source`
  const source = readObject(block['source'], at)
  const types = ['base64', 'url', 'text', 'content', 'file'] as const
  const type = readChoice(source['type'], types, `${at}.type`)
  const title = readOptionalText(block['title'], `${path}.title`)
  const context = readOptionalText(block['context'], `${path}.context`)
  const cache = readCache(block, path)
  switch (type) {
    case 'file':
      return refuse(`${at}.type`, 'is not supported', FILE_HINT)
    case 'text':
      return [joinedText([title, context, readText(source['data'], `${at}.data`)], cache)]
    case 'content':
      return [...about(title, context), ...readDocumentContent(source['content'], `${at}.content`)]
    case 'url':
      return [
        ...about(context),
        { kind: 'file', source: readUrl(source, at), ...named(title), ...cache },
      ]
    case 'base64': {
      const media_type = readChoice(source['media_type'], ['application/pdf'], `${at}.media_type`)
      const data = readBase64(readText(source['data'], `${at}.data`), `${at}.data`)
      return [
        ...about(context),
        { kind: 'file', source: { kind: 'data', media_type, data }, ...named(title), ...cache },
      ]
    }
  }
}

/** Text and images only: a document holds no documents, so that nobody can nest them. */
function readDocumentContent(content: unknown, path: string): ResultPart[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  return readContent(content, path).map(({ block, at }) => {
    const type = readChoice(block['type'], ['text', 'image'], `${at}.type`)
    return type === 'text' ? readTextBlock(block, at) : readImage(block, at)
  })
}

function readSearchResult(block: Fields, path: string): TextPart {
  const title = readText(block['title'], `${path}.title`)
  const source = readText(block['source'], `${path}.source`)
  const texts = readContent(block['content'], `${path}.content`).map(({ block: text, at }) => {
    readChoice(text['type'], ['text'], `${at}.type`)
    return readText(text['text'], `${at}.text`)
  })
  return joinedText([`${title} (${source})`, texts.join('\n')], readCache(block, path))
}

function joinedText(texts: (string | undefined)[], cache: { cache?: CacheHint } = {}): TextPart {
  const said = texts.filter((text) => text !== undefined)
  return { kind: 'text', text: said.join('\n\n'), ...cache }
}

/** What is said of a document in front of it. */
function about(...texts: (string | undefined)[]): TextPart[] {
  const said = joinedText(texts)
  return said.text === '' ? [] : [said]
}

function named(title: string | undefined): { name?: string } {
  return title === undefined ? {} : { name: title }
}

function readCache(block: Fields, path: string): { cache?: CacheHint } {
  const cache = readCacheHint(block['cache_control'], `${path}.cache_control`)
  return cache === undefined ? {} : { cache }
}
