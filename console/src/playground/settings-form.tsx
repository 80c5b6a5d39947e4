// What a chat call is made with: model, limits and words before the conversation.

import { useState } from 'react'
import { Field, TextArea, TextField } from '../ui/form.tsx'
import { kindOf, type Model, type ModelKind } from './models.ts'

export type Settings = { system: string; max_tokens: string; temperature: string; tools: string }

export const NO_SETTINGS: Settings = { system: '', max_tokens: '', temperature: '', tools: '' }

const KIND_WORDS: Record<ModelKind, string> = {
  chat: '',
  speech: ' · speech',
  sound: ' · sound effects',
  transcription: ' · transcription',
}
const SYSTEM_MAX = 100_000

export function ModelField(props: {
  models: readonly Model[]
  value: string
  onChange: (id: string) => void
}) {
  const providers = [...new Set(props.models.map(({ owned_by }) => owned_by))]
  return (
    <Field label="Model" name="model">
      {(tied) => (
        <select
          name="model"
          value={props.value}
          onChange={(event) => props.onChange(event.target.value)}
          {...tied}
        >
          {providers.map((provider) => (
            <optgroup key={provider} label={provider}>
              {props.models
                .filter(({ owned_by }) => owned_by === provider)
                .map((model) => (
                  <option key={model.id} value={model.id}>
                    {model.id}
                    {KIND_WORDS[kindOf(model)]}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      )}
    </Field>
  )
}

/** Open where there is room beside the conversation. */
const ROOMY = '(width >= 1000px)'

export function SettingsForm(props: {
  model: Model
  settings: Settings
  onChange: (settings: Settings) => void
}) {
  const { model, settings, onChange } = props
  const [is_roomy] = useState(() => matchMedia(ROOMY).matches)
  const set = (change: Partial<Settings>) => onChange({ ...settings, ...change })
  return (
    <details className="fold" open={is_roomy}>
      <summary>Settings</summary>
      <div className="form">
        <TextArea
          name="system"
          label="System text"
          hint="What the model is told before the conversation."
          maxLength={SYSTEM_MAX}
          value={settings.system}
          onChange={(event) => set({ system: event.target.value })}
        />
        <div className="field-pair">
          <TextField
            name="max_tokens"
            label="Max tokens"
            type="number"
            min={1}
            max={model.max_output_tokens}
            hint={`Up to ${model.max_output_tokens?.toLocaleString('en-US') ?? 'its limit'}.`}
            value={settings.max_tokens}
            onChange={(event) => set({ max_tokens: event.target.value })}
          />
          <TextField
            name="temperature"
            label="Temperature"
            type="number"
            min={0}
            max={2}
            step={0.1}
            hint="Empty: the model’s own."
            value={settings.temperature}
            onChange={(event) => set({ temperature: event.target.value })}
          />
        </div>
        <TextArea
          name="tools"
          label="Tools (JSON)"
          hint="A list as in the API. Calls of them are shown as they come."
          spellCheck={false}
          value={settings.tools}
          onChange={(event) => set({ tools: event.target.value })}
        />
      </div>
    </details>
  )
}

/** Undefined if it is no JSON. */
export function readTools(text: string): unknown[] | undefined {
  if (text.trim() === '') return []
  try {
    const read: unknown = JSON.parse(text)
    return Array.isArray(read) ? read : undefined
  } catch {
    return undefined
  }
}

export function readNumber(text: string): number | undefined {
  const value = Number(text)
  return text.trim() === '' || !Number.isFinite(value) ? undefined : value
}
