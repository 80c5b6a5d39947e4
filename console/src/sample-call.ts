// A first call in three languages, filled in with the address of this service.

import { baseUrl } from './settings.ts'
import type { Sample } from './ui/snippet.tsx'

export const KEY_PLACEHOLDER = '$SVC_API_KEY'
const MODEL = 'gpt-4o-mini'

/** `user_id` for a key that bills users: the call then goes to the address of one user. */
export function sampleCalls(key = KEY_PLACEHOLDER, user_id?: string): Sample[] {
  const base = baseUrl()
  const within = user_id === undefined ? '/v1' : `/v1/users/${user_id}`
  return [
    {
      language: 'curl',
      code: `curl ${base}${within}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${MODEL}",
    "messages": [{"role": "user", "content": "Say hello."}]
  }'`,
    },
    {
      language: 'JavaScript',
      code: `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${base}${within}',
  apiKey: '${key}',
})
const reply = await client.chat.completions.create({
  model: '${MODEL}',
  messages: [{ role: 'user', content: 'Say hello.' }],
})
console.log(reply.choices[0].message.content)`,
    },
    {
      language: 'Python',
      code: `from openai import OpenAI

client = OpenAI(base_url="${base}${within}", api_key="${key}")
reply = client.chat.completions.create(
    model="${MODEL}",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(reply.choices[0].message.content)`,
    },
  ]
}
