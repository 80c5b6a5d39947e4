// The commands of docs/connect-an-app.md with the values of one app. The secret stays a variable: nobody can read it again.

import { baseUrl } from '../../settings.ts'
import type { Sample } from '../../ui/snippet.tsx'
import type { App } from '../apps.ts'

export type Step = { title: string; text: string; samples: readonly Sample[] }

export function connectSteps(app: App): Step[] {
  const [redirect_uri = ''] = app.redirect_uris
  const given = { base: baseUrl(), redirect_uri, ...app }
  return [
    {
      title: '1. Send the user to the consent page',
      text: 'Open the printed address in a browser and allow. You return to your own address; the code in it is good for 60 seconds.',
      samples: [
        { language: 'Tokens', code: authorizeCommand(given) },
        { language: 'Hosted storage', code: hostedCommand(given) },
      ],
    },
    {
      title: '2. Exchange the code on your server',
      text: 'With hosted storage the exchange links the user; else it answers tokens, which you keep.',
      samples: [
        { language: 'Tokens', code: exchangeCommand(given, '') },
        {
          language: 'Hosted storage',
          code: exchangeCommand(given, '-d external_user_id=user-42 '),
        },
      ],
    },
    {
      title: '3. Call, and the user pays',
      text: 'Svc answers what the call cost, with your markup, and the balance of the user before and after.',
      samples: [
        { language: 'Tokens', code: callCommand(given, '"authorization: Bearer $ACCESS_TOKEN"') },
        {
          language: 'Hosted storage',
          code: callCommand(given, '"authorization: Bearer $SVC_API_KEY" -H "X-Svc-User: user-42"'),
        },
      ],
    },
  ]
}

type Given = Pick<App, 'client_id' | 'allowed_scopes'> & { base: string; redirect_uri: string }

function authorizeCommand({ base, client_id, redirect_uri, allowed_scopes }: Given): string {
  return `VERIFIER=$(openssl rand 32 | openssl base64 | tr '+/' '-_' | tr -d '=')
CHALLENGE=$(printf %s "$VERIFIER" | openssl dgst -sha256 -binary | openssl base64 | tr '+/' '-_' | tr -d '=')
STATE=$(openssl rand -hex 16)
ADDRESS='${base}/oauth/authorize?client_id=${client_id}'
ADDRESS="$ADDRESS&response_type=code&scope=${allowed_scopes.join('+')}&state=$STATE"
ADDRESS="$ADDRESS&redirect_uri="'${encodeURIComponent(redirect_uri)}'
ADDRESS="$ADDRESS&code_challenge=$CHALLENGE&code_challenge_method=S256"
echo "$ADDRESS"`
}

function hostedCommand(given: Given): string {
  return authorizeCommand(given).replace(
    'code_challenge_method=S256"',
    'code_challenge_method=S256&storage_mode=hosted&external_user_id=user-42"',
  )
}

function exchangeCommand({ base, client_id }: Given, more: string): string {
  return `curl ${base}/oauth/token -d grant_type=authorization_code \\
  -d "code=$CODE" -d "code_verifier=$VERIFIER" ${more}\\
  -d client_id=${client_id} \\
  -d "client_secret=$CLIENT_SECRET"`
}

function callCommand({ base }: Given, headers: string): string {
  return `curl ${base}/v1/chat/completions -H ${headers} \\
  -H 'content-type: application/json' \\
  -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Say hello."}]}'`
}
