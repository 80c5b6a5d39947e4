// The voices and models that the ElevenLabs stand-in lists.

export type Voice = { voice_id: string; name: string; gender: string; accent: string }

export type ElevenlabsModel = {
  model_id: string
  name: string
  kind: 'speech' | 'transcript' | 'sound'
  max_characters: number
  /** Credits that one character costs. */
  character_cost: number
  takes_language: boolean
}

export const VOICES: readonly Voice[] = [
  { voice_id: '21m00Tcm4TlvDq8ikWAM', name: 'Rachel', gender: 'female', accent: 'american' },
  { voice_id: 'EXAVITQu4vr4xnSDxMaL', name: 'Sarah', gender: 'female', accent: 'american' },
  { voice_id: 'JBFqnCBsd6RMkjVDRZzb', name: 'George', gender: 'male', accent: 'british' },
  { voice_id: 'pNInz6obpgDQGcFmaJgB', name: 'Adam', gender: 'male', accent: 'american' },
  { voice_id: 'onwK4e9ZLuTAKqWW03F9', name: 'Daniel', gender: 'male', accent: 'british' },
  { voice_id: 'XB0fDUnXU5powFXDhCwa', name: 'Charlotte', gender: 'female', accent: 'swedish' },
]

export const ELEVENLABS_MODELS: readonly ElevenlabsModel[] = [
  {
    model_id: 'eleven_multilingual_v2',
    name: 'Eleven Multilingual v2',
    kind: 'speech',
    max_characters: 10_000,
    character_cost: 1,
    takes_language: false,
  },
  {
    model_id: 'eleven_v3',
    name: 'Eleven v3',
    kind: 'speech',
    max_characters: 5_000,
    character_cost: 1,
    takes_language: true,
  },
  {
    model_id: 'eleven_flash_v2_5',
    name: 'Eleven Flash v2.5',
    kind: 'speech',
    max_characters: 40_000,
    character_cost: 0.5,
    takes_language: true,
  },
  {
    model_id: 'eleven_turbo_v2_5',
    name: 'Eleven Turbo v2.5',
    kind: 'speech',
    max_characters: 40_000,
    character_cost: 0.5,
    takes_language: true,
  },
  {
    model_id: 'eleven_text_to_sound_v2',
    name: 'Sound effects',
    kind: 'sound',
    max_characters: 450,
    character_cost: 1,
    takes_language: false,
  },
  ...['scribe_v1', 'scribe_v2'].map((model_id): ElevenlabsModel => {
    const name = model_id.replace('scribe_', 'Scribe ')
    const limits = { max_characters: 0, character_cost: 0, takes_language: true }
    return { model_id, name, kind: 'transcript', ...limits }
  }),
]

export function findElevenlabsModel(model_id: string): ElevenlabsModel | undefined {
  return ELEVENLABS_MODELS.find((model) => model.model_id === model_id)
}

/**
 * Real ids are twenty letters and digits. Any such id is taken, because which voices an account has
 * is its own choice and not part of the protocol; every other id is unknown.
 */
export function findVoice(voice_id: string): Voice | undefined {
  const listed = VOICES.find((voice) => voice.voice_id === voice_id)
  if (listed !== undefined || !/^[A-Za-z0-9]{20}$/.test(voice_id)) return listed
  return { voice_id, name: 'Sandbox voice', gender: 'neutral', accent: 'none' }
}

export function describeVoice({ voice_id, name, gender, accent }: Voice) {
  return {
    voice_id,
    name,
    category: 'premade',
    labels: { gender, accent },
    preview_url: `https://example.com/voices/${voice_id}.mp3`,
    settings: {
      stability: 0.5,
      similarity_boost: 0.75,
      style: 0,
      use_speaker_boost: true,
      speed: 1,
    },
  }
}

export function describeModel(model: ElevenlabsModel) {
  return {
    model_id: model.model_id,
    name: model.name,
    can_do_text_to_speech: model.kind === 'speech',
    maximum_text_length_per_request: model.max_characters,
    model_rates: { character_cost_multiplier: model.character_cost },
  }
}
