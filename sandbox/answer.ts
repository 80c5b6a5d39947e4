// What a model says: one plan in, one answer out, the same for every provider. The providers' files
// turn it into their own words for it and never decide content themselves.

import { type Directives, directiveNumber, removeDirectives } from './directives.ts'
import { writeSentences, writeTokens } from './prose.ts'
import { valueForSchema } from './schema-answer.ts'
import { countTokens, takeTokens } from './tokens.ts'

const MAX_TOKENS = 200_000
const MAX_CALLS = 16
const EXCERPT_LENGTH = 80
const REFUSAL = 'I am sorry, but I cannot help with that request.'

type ToolName = { name: string; namespace?: string | undefined; free_text: boolean }
export type ToolOffer = ToolName & { schema: unknown }
export type ToolCall = ToolName & { arguments: string }

export type AnswerPlan = {
  seed: string
  model: string
  asked: string
  results: readonly string[]
  directives: Directives
  /** Everything the model may write, hidden reasoning included. */
  limit_tokens: number
  /** Null when the model does not reason, or was told not to: then no test prompt makes it. */
  reasoning_tokens: number | null
  stop: readonly string[]
  /** Present when the answer must be JSON of this schema. */
  schema?: unknown
  tools: readonly ToolOffer[]
  /** Whether the request leaves the model no choice but to call a tool. */
  tool_forced: boolean
  parallel_tools: boolean
  /** Whether this provider's models say a sentence before they call a tool. */
  announces_tools: boolean
  /** Whether a refusal comes with a sentence; elsewhere it is only a reason to stop. */
  explains_refusals: boolean
}

export type AnswerEnd =
  | 'stop'
  | 'stop_sequence'
  | 'length'
  | 'tools'
  | 'content_filter'
  | 'refusal'
  | 'odd'

export type Answer = {
  seed: string
  text: string
  calls: readonly ToolCall[]
  reasoning_tokens: number
  /** Text and tool calls, without reasoning. */
  visible_tokens: number
  end: AnswerEnd
  stop_sequence: string | null
  /** The name of an end that nobody has heard of, when one was asked for. */
  odd_reason: string | null
}

/** The index tells the choices of one request apart. */
export function composeAnswer(plan: AnswerPlan, index = 0): Answer {
  const seed = `${plan.seed}/${index}`
  const reasoning_tokens = chooseReasoning(plan)
  if (reasoning_tokens > 0 && reasoning_tokens >= plan.limit_tokens) {
    // Thinking used up the whole allowance: there is an answer, it is billed, and it is empty.
    return finish({ seed, text: '', calls: [], end: 'length' }, plan.limit_tokens, plan)
  }
  if (plan.directives.finish !== undefined) {
    return finish({ seed, text: '', calls: [], end: 'odd' }, reasoning_tokens, plan)
  }
  const room_tokens = plan.limit_tokens - reasoning_tokens
  const draft = callTools(plan, seed, room_tokens) ?? writeText(plan, seed, room_tokens)
  return finish(draft, reasoning_tokens, plan)
}

function chooseReasoning(plan: AnswerPlan): number {
  if (plan.reasoning_tokens === null) return 0
  const asked = directiveNumber(plan.directives.reasoning, MAX_TOKENS)
  return Math.floor(asked ?? plan.reasoning_tokens)
}

type Draft = Pick<Answer, 'seed' | 'text' | 'calls' | 'end'> & { stop_sequence?: string | null }

function finish(draft: Draft, reasoning_tokens: number, { directives }: AnswerPlan): Answer {
  const texts = [draft.text, ...draft.calls.map((call) => call.name + call.arguments)]
  const visible_tokens = texts.reduce((sum, text) => sum + countTokens(text), 0)
  const odd_reason = directives.finish || null
  return { stop_sequence: null, ...draft, odd_reason, reasoning_tokens, visible_tokens }
}

function callTools(plan: AnswerPlan, seed: string, room_tokens: number): Draft | undefined {
  const wanted = plan.directives.tool
  const offer = chooseTool(plan.tools, wanted)
  if (offer === undefined || (wanted === undefined && !plan.tool_forced)) return undefined
  const count = plan.parallel_tools ? (directiveNumber(wanted, MAX_CALLS) ?? 1) : 1
  const announces = plan.announces_tools || plan.directives.announce !== undefined
  const text = announces && !plan.tool_forced ? `I will call ${offer.name} for that.` : ''
  const calls: ToolCall[] = []
  let used_tokens = countTokens(text)
  for (let index = 0; index < count; index += 1) {
    const written = plan.directives.arguments ?? writeArguments(offer, `${seed}/call/${index}`)
    const call = { ...toolName(offer), arguments: written }
    used_tokens += countTokens(call.name + call.arguments)
    // A call that does not fit is left out whole: half of one is no valid message anywhere.
    if (used_tokens > room_tokens)
      return { seed, text: takeTokens(text, room_tokens), calls, end: 'length' }
    calls.push(call)
  }
  return { seed, text, calls, end: 'tools' }
}

/** By name, if the test prompt has one: a tool that is not offered is not called. */
function chooseTool(offers: readonly ToolOffer[], wanted = ''): ToolOffer | undefined {
  const named = wanted !== '' && directiveNumber(wanted, MAX_CALLS) === undefined
  return named ? offers.find((offer) => fullName(offer) === wanted) : offers[0]
}

function fullName({ name, namespace }: ToolName): string {
  return namespace === undefined ? name : `${namespace}__${name}`
}

function toolName({ name, namespace, free_text }: ToolOffer): ToolName {
  return { name, namespace, free_text }
}

function writeArguments(offer: ToolOffer, seed: string): string {
  if (offer.free_text) return writeSentences(1, { seed, unicode: false })
  return JSON.stringify(valueForSchema(offer.schema, seed))
}

function writeText(plan: AnswerPlan, seed: string, room_tokens: number): Draft {
  if (plan.directives.refusal !== undefined) {
    const text = plan.explains_refusals ? takeTokens(REFUSAL, room_tokens) : ''
    return { seed, text, calls: [], end: 'refusal' }
  }
  const whole = chooseText(plan, seed, room_tokens)
  const stopped = cutAtStop(whole, plan.stop)
  if (plan.directives.content_filter !== undefined) {
    const half_tokens = Math.min(Math.ceil(countTokens(stopped.text) / 2), room_tokens)
    return { seed, text: takeTokens(stopped.text, half_tokens), calls: [], end: 'content_filter' }
  }
  const text = takeTokens(stopped.text, room_tokens)
  if (text.length < stopped.text.length) return { seed, text, calls: [], end: 'length' }
  const end = stopped.stop_sequence === null ? 'stop' : 'stop_sequence'
  return { seed, text, calls: [], end, stop_sequence: stopped.stop_sequence }
}

function chooseText(plan: AnswerPlan, seed: string, room_tokens: number): string {
  if (plan.schema !== undefined) return JSON.stringify(valueForSchema(plan.schema, seed))
  const unicode = plan.directives.unicode !== undefined
  const tokens = directiveNumber(plan.directives.tokens, MAX_TOKENS)
  if (tokens !== undefined) {
    // One token more than fits is enough to see that the rest did not.
    return writeTokens(Math.min(Math.floor(tokens), room_tokens + 1), { seed, unicode })
  }
  const asked = removeDirectives(plan.asked)
  if (plan.directives.echo !== undefined) return asked
  const sentences = writeSentences(3, { seed, unicode })
  const result = plan.results[0]
  if (result !== undefined) return `The tool answered: ${excerpt(result)} ${sentences}`
  return `This is ${plan.model} in the sandbox. You said: ${excerpt(asked)} ${sentences}`
}

function cutAtStop(text: string, stops: readonly string[]) {
  const found = stops
    .map((stop) => ({ stop, at: stop === '' ? -1 : text.indexOf(stop) }))
    .filter((hit) => hit.at >= 0)
    .sort((left, right) => left.at - right.at)[0]
  if (found === undefined) return { text, stop_sequence: null }
  return { text: text.slice(0, found.at), stop_sequence: found.stop }
}

function excerpt(text: string): string {
  const points = Array.from(removeDirectives(text).replaceAll(/\s+/g, ' '))
  const short = points.slice(0, EXCERPT_LENGTH).join('')
  return points.length > EXCERPT_LENGTH ? `"${short}..."` : `"${short}"`
}
