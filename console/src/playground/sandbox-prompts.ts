// Prompts that the sandbox understands (docs/sandbox.md), for every state that an answer can be in.

export type SandboxPrompt = { label: string; prompt: string; tools?: string }

const WEATHER_TOOL = JSON.stringify(
  [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'The weather of a city',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
      },
    },
  ],
  null,
  2,
)

const MARKDOWN = `[[sandbox:echo]]
## A plan
1. Read the **list**
2. Call \`fetch\`

\`\`\`js
const reply = await fetch('/v1/models') // all of them
console.log(reply.status, 200)
\`\`\``

export const SANDBOX_PROMPTS: readonly SandboxPrompt[] = [
  {
    label: 'A long answer',
    prompt: '[[sandbox:tokens=1500]] [[sandbox:pace=20]] Tell me a story.',
  },
  { label: 'Markdown and code', prompt: MARKDOWN },
  { label: 'Many scripts', prompt: '[[sandbox:unicode]] Greet everybody.' },
  {
    label: 'A tool call',
    prompt: '[[sandbox:tool]] How is the weather in Oslo?',
    tools: WEATHER_TOOL,
  },
  { label: 'A slow start', prompt: '[[sandbox:slow=2000]] Take your time.' },
  { label: 'A rate limit', prompt: '[[sandbox:429=5]] Hello.' },
  { label: 'An error on the way', prompt: '[[sandbox:error_mid_stream]] Hello.' },
]
