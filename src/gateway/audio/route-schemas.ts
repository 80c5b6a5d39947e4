// What the reference says about the bodies of audio calls. The readers say exactly what is wrong with one.

import { Type } from 'typebox'
import { Nullable } from '../../http/schemas.ts'

// For the documentation: the readers say exactly what is wrong with a body.
const Format = Type.Optional(
  Type.Enum(['mp3', 'opus', 'wav', 'pcm'], { description: 'mp3 if left out.', examples: ['mp3'] }),
)
export const SpeechBody = Type.Object({
  model: Type.String({ examples: ['elevenlabs/eleven_flash_v2_5'] }),
  input: Type.String({ description: 'What is to be said.', examples: ['Good morning.'] }),
  voice: Type.String({ description: 'From GET /v1/audio/voices.', examples: ['alloy'] }),
  response_format: Format,
  speed: Type.Optional(Type.Number({ minimum: 0.7, maximum: 1.2, examples: [1] })),
  stream_format: Type.Optional(
    Type.Enum(['audio', 'sse'], { description: 'sse: as events.', examples: ['audio'] }),
  ),
})
export const SoundBody = Type.Object({
  model: Type.String({ examples: ['elevenlabs/eleven_text_to_sound_v2'] }),
  input: Type.String({ description: 'What is to be heard.', examples: ['Rain on a tin roof'] }),
  response_format: Format,
  seconds: Type.Optional(Type.Number({ minimum: 0.5, maximum: 30, examples: [5] })),
  prompt_influence: Type.Optional(Type.Number({ minimum: 0, maximum: 1, examples: [0.3] })),
  loop: Type.Optional(
    Type.Boolean({ description: 'Whether it can be repeated without a gap.', examples: [false] }),
  ),
})
export const VoiceListBody = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      id: Type.String({ examples: ['21m00Tcm4TlvDq8ikWAM'] }),
      name: Type.String({ examples: ['Rachel'] }),
      aliases: Type.Array(Type.String({ examples: ['nova'] })),
      labels: Type.Record(Type.String(), Type.String()),
      preview_url: Nullable(Type.String()),
    }),
  ),
})
export const AUDIO_DESCRIPTION =
  'The audio comes as it is made. What it cost stands in the headers `X-Svc-Credits-Used`, `X-Svc-Balance-Before`, `X-Svc-Balance-After` and `X-Svc-Billing-Mode`.'
export const TRANSCRIPT_DESCRIPTION =
  'A form with the fields `file` (up to 25 MB), `model`, and as wanted `language`, `response_format` (json, text, srt, vtt, verbose_json), `timestamp_granularities[]`, `temperature`, `stream`. Charged by the length of the audio.'
