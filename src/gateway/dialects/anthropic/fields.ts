// Every field of messages, and what becomes of it.

import { fieldTable } from '../field-rules.ts'

export const ANTHROPIC_FIELDS = fieldTable({
  model: { all: 'translate' },
  messages: { anthropic: 'relay', all: 'translate' },
  max_tokens: { all: 'translate' },
  system: { anthropic: 'relay', all: 'translate' },
  stop_sequences: { anthropic: 'relay', all: 'translate' },
  stream: { all: 'translate' },
  temperature: { anthropic: 'relay', all: 'translate', families: { gpt_reasoning: 'ignore' } },
  top_p: { anthropic: 'relay', all: 'translate', families: { gpt_reasoning: 'ignore' } },
  top_k: { anthropic: 'relay', openai: 'ignore', google: 'translate' },
  thinking: { anthropic: 'relay', all: 'translate' },
  tools: { anthropic: 'relay', all: 'translate' },
  tool_choice: { anthropic: 'relay', all: 'translate' },
  output_config: { anthropic: 'relay', all: 'translate' },
  cache_control: { anthropic: 'relay', all: 'ignore' },
  metadata: { all: 'ignore', note: 'the provider is sent an opaque name of the end user' },
  service_tier: { all: 'ignore', note: 'every call runs in the standard tier' },
  speed: { all: 'ignore', note: 'other speeds have other prices' },
  inference_geo: { all: 'ignore', note: 'other places have other prices' },
  container: { all: 'ignore' },
  diagnostics: { all: 'ignore' },
  context_management: { all: 'ignore' },
  mcp_servers: { all: 'refuse', hint: 'Call the servers yourself and offer their tools.' },
})
