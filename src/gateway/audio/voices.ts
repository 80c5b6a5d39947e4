// The voices: ElevenLabs' own, and the names that OpenAI's clients know.

import type { Clock } from '../../platform/clock.ts'
import { CallSignal } from '../../platform/http-call.ts'
import type { Elevenlabs } from '../upstreams/elevenlabs/elevenlabs.ts'
import { isRecord, listOf, recordOf, textOf } from '../upstreams/json-values.ts'

const FRESH_MS = 300_000
const VOICES_MAX = 1_000

/** Of ElevenLabs' own voices, the one that sounds most like OpenAI's of that name. */
export const VOICE_NAMES: ReadonlyMap<string, string> = new Map([
  ['alloy', 'EXAVITQu4vr4xnSDxMaL'],
  ['ash', 'pNInz6obpgDQGcFmaJgB'],
  ['ballad', 'JBFqnCBsd6RMkjVDRZzb'],
  ['cedar', 'onwK4e9ZLuTAKqWW03F9'],
  ['coral', '21m00Tcm4TlvDq8ikWAM'],
  ['echo', 'pNInz6obpgDQGcFmaJgB'],
  ['fable', 'JBFqnCBsd6RMkjVDRZzb'],
  ['marin', 'XB0fDUnXU5powFXDhCwa'],
  ['nova', '21m00Tcm4TlvDq8ikWAM'],
  ['onyx', 'onwK4e9ZLuTAKqWW03F9'],
  ['sage', 'XB0fDUnXU5powFXDhCwa'],
  ['shimmer', 'EXAVITQu4vr4xnSDxMaL'],
  ['verse', 'JBFqnCBsd6RMkjVDRZzb'],
])

export type Voice = {
  id: string
  name: string
  /** Names of OpenAI's that lead to it. */
  aliases: string[]
  labels: Record<string, string>
  preview_url: string | null
}

/** Asked of the provider once in a while, however many ask. */
export class VoiceList {
  readonly #clock: Clock
  #known: { voices: Promise<Voice[]>; until: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  read(elevenlabs: Elevenlabs): Promise<Voice[]> {
    const now = this.#clock.now().getTime()
    if (this.#known && now < this.#known.until) return this.#known.voices
    const voices = elevenlabs.voices(new CallSignal()).then(({ voices: list }) => toVoices(list))
    const known = { voices, until: now + FRESH_MS }
    this.#known = known
    voices.catch(() => {
      if (this.#known === known) this.#known = undefined
    })
    return voices
  }
}

function toVoices(list: unknown): Voice[] {
  return listOf(list)
    .slice(0, VOICES_MAX)
    .filter(isRecord)
    .map((voice) => {
      const id = textOf(voice['voice_id'])
      const labels = Object.entries(recordOf(voice['labels']))
      return {
        id,
        name: textOf(voice['name']),
        aliases: [...VOICE_NAMES].filter(([, voice_id]) => voice_id === id).map(([name]) => name),
        labels: Object.fromEntries(labels.map(([name, value]) => [name, textOf(value)])),
        preview_url: typeof voice['preview_url'] === 'string' ? voice['preview_url'] : null,
      }
    })
}
