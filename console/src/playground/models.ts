// The models that can be tried here: what kind each is, what it costs, and what a call may come to.

import { useQuery } from '@tanstack/react-query'
import { api, ask } from '../api.ts'
import type { paths } from '../api-types.ts'
import { useAccount } from '../queries.ts'

type Answer = paths['/v1/models']['get']['responses'][200]['content']['application/json']
export type Model = Extract<Answer, { object: 'list' }>['data'][number]
export type ModelKind = 'chat' | 'speech' | 'sound' | 'transcription'

const KINDS: Record<Model['pricing']['unit'], ModelKind> = {
  token: 'chat',
  character: 'speech',
  generation: 'sound',
  hour: 'transcription',
}
export const FIRST_MODEL = 'gpt-4o-mini'
const MILLION = 1_000_000
/** What dialects and tools add to a prompt; more than any of them does. */
const MESSAGE_EXTRA_TOKENS = 16
const TOOLS_EXTRA_TOKENS = 800
const BYTES_PER_TOKEN = 4

export function kindOf(model: Model): ModelKind {
  return KINDS[model.pricing.unit]
}

/** Vectors are for programs: there is nothing to see of them. */
function canBeTried({ modalities }: Model): boolean {
  return !modalities.output.includes('embedding')
}

/** Those that somebody answers for, by provider. */
export function useModels() {
  const account = useAccount()
  const providers: readonly string[] | undefined = account.data?.service.providers
  const models = useQuery({
    queryKey: ['models'],
    staleTime: 300_000,
    queryFn: async () => {
      const answer = await ask(() => api.GET('/v1/models'))
      if (!('object' in answer)) throw new TypeError('The models came in another shape.')
      return answer.data
    },
  })
  const callable = models.data?.filter(
    (model) =>
      canBeTried(model) &&
      model.served_by !== null &&
      (providers?.includes(model.owned_by) ?? true),
  )
  return { ...models, data: callable }
}

export function useVoices(enabled: boolean) {
  return useQuery({
    queryKey: ['voices'],
    enabled,
    staleTime: 300_000,
    queryFn: () => ask(() => api.GET('/v1/audio/voices')),
  })
}

const encoder = new TextEncoder()

export function bytesOf(text: string): number {
  return encoder.encode(text).length
}

/** What a call has come to so far, as well as bytes tell. The exact figure comes with its end. */
export function estimateCredits(model: Model, prompt_bytes: number, answer_bytes: number): number {
  const { input, output } = model.pricing
  const millionths = (prompt_bytes * input + answer_bytes * output) / BYTES_PER_TOKEN
  return Math.ceil(millionths / MILLION)
}

/** No token is shorter than a byte, so that a prompt cannot come to more than this. */
export function mostCredits(
  model: Model,
  asked: { prompt_bytes: number; messages: number; max_tokens: number | undefined; tools: boolean },
): number {
  const { input, output } = model.pricing
  const extra = asked.messages * MESSAGE_EXTRA_TOKENS + (asked.tools ? TOOLS_EXTRA_TOKENS : 0)
  const longest = Math.min(
    asked.max_tokens ?? Number.POSITIVE_INFINITY,
    model.max_output_tokens ?? 0,
  )
  return Math.ceil(((asked.prompt_bytes + extra) * input + longest * output) / MILLION)
}
