// Audio models: text becomes speech or a sound, which a player plays, and a file becomes text.

import { type ReactNode, useState } from 'react'
import {
  Form,
  type FormValues,
  SelectField,
  SubmitButton,
  TextArea,
  TextField,
} from '../ui/form.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { CodeSnippet, type Sample } from '../ui/snippet.tsx'
import { soundSamples, speechSamples, transcriptionSamples } from './code-samples.ts'
import { ExactCost } from './cost.tsx'
import { CallFailure } from './failure.tsx'
import { kindOf, type Model, useVoices } from './models.ts'
import { PriceCard } from './price-card.tsx'
import { readNumber } from './settings-form.tsx'
import { type SoundResult, useSoundCall } from './sound-call.ts'

const TEXT_MAX = 40_000
const MILLION = 1_000_000
const FILE_MAX_BYTES = 25 * 1024 * 1024
const FILE_KINDS = '.mp3,.m4a,.wav,.flac,.ogg,.webm'

type SoundProps = { model: Model; modelField: ReactNode }

export function Sound({ model, modelField }: SoundProps) {
  switch (kindOf(model)) {
    case 'speech':
      return <Speech model={model} modelField={modelField} />
    case 'sound':
      return <SoundEffect model={model} modelField={modelField} />
    case 'transcription':
      return <Transcription model={model} modelField={modelField} />
    case 'chat':
      return null
  }
}

function Speech({ model, modelField }: SoundProps) {
  const [input, setInput] = useState('Good morning. This voice was made a moment ago.')
  const [voice, setVoice] = useState('')
  const voices = useVoices(true)
  const call = useSoundCall()
  const choices = voices.data?.data.map(({ id, name }) => [id, name] as const) ?? []
  const body = {
    model: model.id,
    voice: voice === '' ? (choices[0]?.[0] ?? 'alloy') : voice,
    input,
  }
  return (
    <Frame
      {...{ model, modelField, call }}
      most={Math.ceil((Array.from(input).length * model.pricing.input) / MILLION)}
      samples={speechSamples(body)}
      onSubmit={() => call.send('/account/playground/audio/speech', body)}
      action="Make the sound"
    >
      {voices.isPending ? (
        <Skeleton lines={1} />
      ) : (
        <SelectField
          name="voice"
          label="Voice"
          choices={choices.length > 0 ? choices : [['alloy', 'alloy']]}
          value={body.voice}
          onChange={(event) => setVoice(event.target.value)}
        />
      )}
      <TextArea
        name="input"
        label="What is said"
        required
        maxLength={TEXT_MAX}
        value={input}
        onChange={(event) => setInput(event.target.value)}
      />
    </Frame>
  )
}

function SoundEffect({ model, modelField }: SoundProps) {
  const [input, setInput] = useState('Rain on a tin roof')
  const [length, setLength] = useState('')
  const call = useSoundCall()
  const seconds = readNumber(length)
  const body = { model: model.id, input, ...(seconds !== undefined && { seconds }) }
  return (
    <Frame
      {...{ model, modelField, call }}
      most={Math.ceil(model.pricing.input / MILLION)}
      samples={soundSamples(body)}
      onSubmit={() => call.send('/account/playground/audio/sound-effects', body)}
      action="Make the sound"
    >
      <TextArea
        name="input"
        label="What is heard"
        required
        maxLength={TEXT_MAX}
        value={input}
        onChange={(event) => setInput(event.target.value)}
      />
      <TextField
        name="seconds"
        label="Seconds"
        type="number"
        min={0.5}
        max={30}
        step={0.5}
        hint="Empty: as long as it needs."
        value={length}
        onChange={(event) => setLength(event.target.value)}
      />
    </Frame>
  )
}

function Transcription({ model, modelField }: SoundProps) {
  const [file, setFile] = useState<File | undefined>()
  const call = useSoundCall()
  const submit = async () => {
    if (!file) return
    const upload = new FormData()
    upload.set('model', model.id)
    upload.set('file', file)
    await call.send('/account/playground/audio/transcriptions', upload)
  }
  const is_large = file !== undefined && file.size > FILE_MAX_BYTES
  return (
    <Frame
      {...{ model, modelField, call }}
      samples={transcriptionSamples(model.id, file?.name ?? 'meeting.mp3')}
      onSubmit={submit}
      action="Write it down"
    >
      <TextField
        name="file"
        label="File with speech"
        type="file"
        accept={FILE_KINDS}
        required
        hint={
          is_large
            ? 'This file is larger than the 25 MB that are taken.'
            : 'mp3, m4a, wav, flac, ogg or webm, up to 25 MB.'
        }
        onChange={(event) => setFile(event.target.files?.[0])}
      />
    </Frame>
  )
}

function Frame(props: {
  model: Model
  modelField: ReactNode
  call: ReturnType<typeof useSoundCall>
  most?: number
  samples: Sample[]
  onSubmit: (values: FormValues) => Promise<void>
  action: string
  children: ReactNode
}) {
  const { call } = props
  return (
    <div className="playground">
      <section className="playground-settings" aria-label="Model">
        {props.modelField}
        <PriceCard model={props.model} most={props.most} />
      </section>
      <section className="talk" aria-label="Sound">
        <Form onSubmit={props.onSubmit}>
          {props.children}
          <div className="row">
            <SubmitButton>{props.action}</SubmitButton>
          </div>
        </Form>
        {call.problem && <CallFailure problem={call.problem} />}
        {call.result && <Result result={call.result} />}
        <details className="fold">
          <summary>The same call in code</summary>
          <CodeSnippet label="The same call" samples={props.samples} />
        </details>
      </section>
    </div>
  )
}

function Result({ result: { url, text, charge, generation_id } }: { result: SoundResult }) {
  return (
    <div className="answer" role="status">
      {url !== undefined && (
        <div className="row">
          {/* biome-ignore lint/a11y/useMediaCaption: what is said stands in the field above */}
          <audio controls src={url} aria-label="The sound" />
          <a href={url} download="sound.mp3">
            Download
          </a>
        </div>
      )}
      {text !== undefined && <p className="said">{text}</p>}
      {charge && <ExactCost charge={charge} generation_id={generation_id} />}
    </div>
  )
}
