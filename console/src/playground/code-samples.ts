// The same call in code, for curl, JavaScript and Python. A key is never filled in.

import { KEY_PLACEHOLDER } from '../sample-call.ts'
import { baseUrl } from '../settings.ts'
import type { Sample } from '../ui/snippet.tsx'
import type { ChatBody } from './chat-call.ts'

export function chatSamples(body: ChatBody): Sample[] {
  return [
    { language: 'curl', code: curlJson('/chat/completions', body) },
    {
      language: 'JavaScript',
      code: `${JS_CLIENT()}
const reply = await client.chat.completions.create(${JSON.stringify(body, null, 2)})
console.log(reply.choices[0].message.content, reply.svc.credits_used)`,
    },
    {
      language: 'Python',
      code: `${PYTHON_CLIENT()}
reply = client.chat.completions.create(
${pythonArguments(body)}
)
print(reply.choices[0].message.content)`,
    },
  ]
}

export function speechSamples(body: { model: string; voice: string; input: string }): Sample[] {
  return [
    { language: 'curl', code: `${curlJson('/audio/speech', body)} \\\n  -o speech.mp3` },
    {
      language: 'JavaScript',
      code: `import { writeFile } from 'node:fs/promises'
${JS_CLIENT()}
const reply = await client.audio.speech.create(${JSON.stringify(body, null, 2)})
await writeFile('speech.mp3', Buffer.from(await reply.arrayBuffer()))`,
    },
    {
      language: 'Python',
      code: `${PYTHON_CLIENT()}
reply = client.audio.speech.create(
${pythonArguments(body)}
)
reply.write_to_file("speech.mp3")`,
    },
  ]
}

export function soundSamples(body: { model: string; input: string; seconds?: number }): Sample[] {
  const url = `${baseUrl()}/v1/audio/sound-effects`
  return [
    { language: 'curl', code: `${curlJson('/audio/sound-effects', body)} \\\n  -o sound.mp3` },
    {
      language: 'JavaScript',
      code: `import { writeFile } from 'node:fs/promises'

const reply = await fetch('${url}', {
  method: 'POST',
  headers: {
    authorization: 'Bearer ${KEY_PLACEHOLDER}',
    'content-type': 'application/json',
  },
  body: JSON.stringify(${indent(JSON.stringify(body, null, 2), 2)}),
})
await writeFile('sound.mp3', Buffer.from(await reply.arrayBuffer()))`,
    },
    {
      language: 'Python',
      code: `import requests

reply = requests.post(
    "${url}",
    headers={"Authorization": "Bearer ${KEY_PLACEHOLDER}"},
    json=${indent(python(body), 4)},
)
open("sound.mp3", "wb").write(reply.content)`,
    },
  ]
}

export function transcriptionSamples(model: string, file_name: string): Sample[] {
  return [
    {
      language: 'curl',
      code: `curl ${baseUrl()}/v1/audio/transcriptions \\
  -H "Authorization: Bearer ${KEY_PLACEHOLDER}" \\
  -F ${quote(`model=${model}`)} \\
  -F ${quote(`file=@${file_name}`)}`,
    },
    {
      language: 'JavaScript',
      code: `import { createReadStream } from 'node:fs'
${JS_CLIENT()}
const reply = await client.audio.transcriptions.create({
  model: ${JSON.stringify(model)},
  file: createReadStream(${JSON.stringify(file_name)}),
})
console.log(reply.text)`,
    },
    {
      language: 'Python',
      code: `${PYTHON_CLIENT()}
reply = client.audio.transcriptions.create(
    model=${JSON.stringify(model)},
    file=open(${JSON.stringify(file_name)}, "rb"),
)
print(reply.text)`,
    },
  ]
}

const JS_CLIENT = () => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl()}/v1', apiKey: '${KEY_PLACEHOLDER}' })`

const PYTHON_CLIENT = () => `from openai import OpenAI

client = OpenAI(base_url="${baseUrl()}/v1", api_key="${KEY_PLACEHOLDER}")`

function curlJson(path: string, body: object): string {
  return `curl ${baseUrl()}/v1${path} \\
  -H "Authorization: Bearer ${KEY_PLACEHOLDER}" \\
  -H "Content-Type: application/json" \\
  -d ${quote(JSON.stringify(body, null, 2))}`
}

/** For a shell, whatever was typed. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function pythonArguments(body: object): string {
  return Object.entries(body)
    .map(([name, value]) => `    ${name}=${indent(python(value), 4)},`)
    .join('\n')
}

/** JSON is Python but for three words. */
function python(value: unknown): string {
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (value === null || value === undefined) return 'None'
  if (Array.isArray(value)) return bracket('[', value.map(python), ']')
  if (typeof value !== 'object') return JSON.stringify(value)
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}: ${python(field)}`,
  )
  return bracket('{', fields, '}')
}

function bracket(open: string, parts: readonly string[], close: string): string {
  if (parts.length === 0) return open + close
  return `${open}\n${parts.map((part) => `    ${indent(part, 4)},`).join('\n')}\n${close}`
}

function indent(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`)
}
