// Further names of the listed models: what the providers' own clients, other gateways and tools with a built-in list
// of models send. A dated snapshot is served by the model it is a snapshot of. Only text models that differ in
// nothing but their date are here: a name for audio, search, images or a longer window is another product.

import type { Model } from './models.ts'

/** By public name, without the provider: the prefixes below are put before each. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'gpt-4o': ['gpt-4o-2024-05-13', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'],
  'gpt-4o-mini': ['gpt-4o-mini-2024-07-18'],
  'gpt-4-turbo': [
    'gpt-4-turbo-2024-04-09',
    'gpt-4-turbo-preview',
    'gpt-4-0125-preview',
    'gpt-4-1106-preview',
    'gpt-4-vision-preview',
  ],
  'gpt-4': ['gpt-4-0613', 'gpt-4-0314'],
  'gpt-3.5-turbo': [
    'gpt-3.5-turbo-0125',
    'gpt-3.5-turbo-1106',
    'gpt-3.5-turbo-0613',
    'gpt-3.5-turbo-0301',
    'gpt-3.5-turbo-16k',
    'gpt-3.5-turbo-16k-0613',
    'gpt-35-turbo',
  ],
  'gpt-5': ['gpt-5-2025-08-07'],
  'gpt-5-mini': ['gpt-5-mini-2025-08-07'],
  'anthropic/claude-opus-4': [
    'claude-opus-4',
    'claude-opus-4-0',
    'claude-opus-4-20250514',
    'claude-opus-4@20250514',
    'claude-4-opus',
    'claude-4-opus-20250514',
  ],
  'anthropic/claude-sonnet-4': [
    'claude-sonnet-4',
    'claude-sonnet-4-0',
    'claude-sonnet-4-20250514',
    'claude-sonnet-4@20250514',
    'claude-4-sonnet',
    'claude-4-sonnet-20250514',
  ],
  'anthropic/claude-haiku-3.5': [
    'claude-haiku-3.5',
    'claude-haiku-3-5',
    'claude-3-5-haiku',
    'claude-3-5-haiku-20241022',
    'claude-3-5-haiku@20241022',
    'claude-3-5-haiku-latest',
    'claude-3.5-haiku',
    'claude-3.5-haiku-20241022',
  ],
  'google/gemini-2.5-pro': [
    'gemini-2.5-pro',
    'gemini-2.5-pro-exp-03-25',
    'gemini-2.5-pro-preview',
    'gemini-2.5-pro-preview-03-25',
    'gemini-2.5-pro-preview-05-06',
    'gemini-2.5-pro-preview-06-05',
    'gemini-pro-latest',
  ],
  'google/gemini-2.5-flash': [
    'gemini-2.5-flash',
    'gemini-2.5-flash-preview',
    'gemini-2.5-flash-preview-04-17',
    'gemini-2.5-flash-preview-05-20',
    'gemini-2.5-flash-preview-09-2025',
    'gemini-flash-latest',
  ],
  'google/gemini-2.0-flash': ['gemini-2.0-flash', 'gemini-2.0-flash-001', 'gemini-2.0-flash-exp'],
}

/** How callers name the provider: OpenRouter's and LiteLLM's words for it, and Google's own `models/`. */
const PREFIXES: Record<Model['provider'], readonly string[]> = {
  openai: ['openai/'],
  anthropic: ['anthropic/'],
  google: ['google/', 'gemini/', 'models/'],
  elevenlabs: ['elevenlabs/'],
}

export function aliasesOf(model: Model): string[] {
  const bare = model.name.slice(model.name.indexOf('/') + 1)
  const names = new Set([bare, ...(NAMES[model.name] ?? [])])
  const prefixed = PREFIXES[model.provider].flatMap((prefix) =>
    [...names].map((name) => prefix + name),
  )
  return [...names, ...prefixed].filter((name) => name !== model.name)
}
