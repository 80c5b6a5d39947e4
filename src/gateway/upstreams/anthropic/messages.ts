// A conversation in Anthropic's blocks: turns that alternate, results of tools in front, nothing empty.

import type {
  AssistantPart,
  CacheHint,
  ChatMessage,
  MediaSource,
  TextPart,
  UserPart,
} from '../../dialects/chat-types.ts'
import { isOpenaiReasoning } from '../../dialects/openai-reasoning.ts'
import { refuse } from '../capabilities.ts'
import { spokenText } from '../instructions.ts'
import { given, isRecord, type JsonRecord } from '../json-values.ts'
import { fitToolId, type ToolNames } from '../tool-names.ts'

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const MAX_TOOL_ID = 64
/** Stands where a conversation does not begin with its user, as it has to. */
const OPENING = '.'

export function anthropicMessages(
  messages: readonly ChatMessage[],
  names: ToolNames,
): JsonRecord[] {
  const turns: { role: string; content: JsonRecord[] }[] = []
  for (const message of messages) {
    const blocks =
      message.role === 'user'
        ? userBlocks(message.content)
        : message.content.flatMap((part) => assistantBlock(part, names))
    const before = turns.at(-1)
    if (blocks.length === 0) continue
    // One by one: a spread of as many arguments as a client likes would overflow the stack.
    if (before?.role !== message.role) turns.push({ role: message.role, content: blocks })
    else for (const block of blocks) before.content.push(block)
  }
  if (turns[0]?.role === 'assistant') {
    turns.unshift({ role: 'user', content: [{ type: 'text', text: OPENING }] })
  }
  for (const turn of turns) turn.content = orderBlocks(turn.content)
  return trimPrefill(turns)
}

export function systemBlocks(parts: readonly TextPart[]): JsonRecord[] {
  return parts.flatMap(textBlock)
}

export function cacheControl(cache: CacheHint | undefined): JsonRecord | undefined {
  if (cache === undefined) return undefined
  return cache.ttl === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' }
}

/** Merged turns may have text before results, which has to come after them. */
function orderBlocks(blocks: readonly JsonRecord[]): JsonRecord[] {
  const results = blocks.filter((block) => block['type'] === 'tool_result')
  if (results.length === 0) return [...blocks]
  return [...results, ...blocks.filter((block) => block['type'] !== 'tool_result')]
}

/** A last turn of the assistant is the beginning of the answer, and may not end in white space. */
function trimPrefill(turns: readonly { role: string; content: JsonRecord[] }[]): JsonRecord[] {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || typeof block?.['text'] !== 'string') return [...turns]
  const trimmed = { ...block, text: block['text'].trimEnd() }
  return [
    ...turns.slice(0, -1),
    { role: last.role, content: [...last.content.slice(0, -1), trimmed] },
  ]
}

function userBlocks(parts: readonly UserPart[]): JsonRecord[] {
  return parts.flatMap((part) => {
    if (part.kind !== 'tool_result') return contentBlock(part)
    const content = part.content.flatMap(contentBlock)
    return [
      given({
        type: 'tool_result',
        tool_use_id: fitToolId(part.call_id, MAX_TOOL_ID),
        content: content.length > 0 ? content : undefined,
        is_error: part.is_error,
        cache_control: cacheControl(part.cache),
      }),
    ]
  })
}

function contentBlock(part: Exclude<UserPart, { kind: 'tool_result' }>): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return textBlock(part.instruction ? { ...part, text: spokenText(part) } : part)
    case 'image': {
      const source = imageSource(part.source)
      return [given({ type: 'image', source, cache_control: cacheControl(part.cache) })]
    }
    case 'file': {
      const { name, cache } = part
      const source = documentSource(part.source)
      return [given({ type: 'document', source, title: name, cache_control: cacheControl(cache) })]
    }
    case 'audio':
      throw refuse('This model does not take audio.')
  }
}

function textBlock({ text, cache }: TextPart): JsonRecord[] {
  if (text.trim() === '') return []
  return [given({ type: 'text', text, cache_control: cacheControl(cache) })]
}

function imageSource(source: MediaSource): JsonRecord {
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (!IMAGE_TYPES.includes(source.media_type)) {
    throw refuse(
      `Images of type ${source.media_type} are not supported by this model.`,
      'Use PNG, JPEG, GIF or WebP.',
    )
  }
  return { type: 'base64', media_type: source.media_type, data: source.data }
}

function documentSource(source: MediaSource): JsonRecord {
  if (source.kind === 'url') return { type: 'url', url: source.url }
  const { media_type, data } = source
  if (media_type === 'application/pdf') return { type: 'base64', media_type, data }
  if (media_type.startsWith('text/')) {
    const text = Buffer.from(data, 'base64').toString('utf8')
    return { type: 'text', media_type: 'text/plain', data: text }
  }
  throw refuse(
    `Files of type ${media_type} are not supported by this model.`,
    'Send a PDF or plain text.',
  )
}

function assistantBlock(part: AssistantPart, names: ToolNames): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return textBlock(part)
    case 'refusal':
      return textBlock({ kind: 'text', text: part.text })
    case 'thinking': {
      const { text: thinking, signature } = part
      // Without its proof the provider refuses the block, as with another's; a proof without text is fine.
      if (signature === '' || isOpenaiReasoning(signature)) return []
      return [{ type: 'thinking', thinking, signature }]
    }
    case 'redacted_thinking':
      return [{ type: 'redacted_thinking', data: part.data }]
    case 'tool_call': {
      const block = {
        type: 'tool_use',
        id: fitToolId(part.id, MAX_TOOL_ID),
        name: names.toProvider(part.name),
        input: isRecord(part.input) ? part.input : {},
      }
      return [given({ ...block, cache_control: cacheControl(part.cache) })]
    }
  }
}
