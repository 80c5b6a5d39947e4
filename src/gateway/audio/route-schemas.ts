// What the reference says about the bodies of audio calls. The readers say exactly what is wrong with one.

import { Type } from 'typebox'
import { Nullable } from '../../http/schemas.ts'

export const SpeechBody = Type.Object({
  model: Type.Unknown({ examples: ['elevenlabs/eleven_flash_v2_5'] }),
  input: Type.Unknown({ description: 'What is to be said.', examples: ['Good morning.'] }),
  voice: Type.Unknown({ description: 'From GET /v1/audio/voices.', examples: ['alloy'] }),
  response_format: Type.Optional(
    Type.Unknown({ description: 'mp3, opus, wav or pcm.', examples: ['mp3'] }),
  ),
  speed: Type.Optional(Type.Unknown({ description: '0.7 to 1.2.', examples: [1] })),
  stream_format: Type.Optional(
    Type.Unknown({ description: 'audio, or sse: as events.', examples: ['audio'] }),
  ),
})
export const SoundBody = Type.Object({
  model: Type.Unknown({ examples: ['elevenlabs/eleven_text_to_sound_v2'] }),
  input: Type.Unknown({ description: 'What is to be heard.', examples: ['Rain on a tin roof'] }),
  response_format: Type.Optional(
    Type.Unknown({ description: 'mp3, opus, wav or pcm.', examples: ['mp3'] }),
  ),
  seconds: Type.Optional(Type.Unknown({ description: '0.5 to 30.', examples: [5] })),
  prompt_influence: Type.Optional(Type.Unknown({ description: '0 to 1.', examples: [0.3] })),
  loop: Type.Optional(
    Type.Unknown({ description: 'Whether it can be repeated without a gap.', examples: [false] }),
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
