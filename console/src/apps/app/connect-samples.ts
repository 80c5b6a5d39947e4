// The commands of docs/connect-an-app.md with the values of one app. The secret stays a variable: nobody can read it again.

import { baseUrl } from '../../settings.ts'
import type { Sample } from '../../ui/snippet.tsx'
import type { App } from '../apps.ts'

export type Step = { title: string; text: string; samples: readonly Sample[] }

export function connectSteps(app: App): Step[] {
  const [redirect_uri = ''] = app.redirect_uris
  const given = { base: baseUrl(), redirect_uri, ...app }
  const has_secret = app.client_type === 'web_server'
  /** Hosted storage is for apps with a server. */
  const samples = (tokens: string, hosted: string) => [
    { language: 'Tokens', code: tokens },
    ...(has_secret ? [{ language: 'Hosted storage', code: hosted }] : []),
  ]
  return [
    {
      title: '1. Send the user to the consent page',
      text: 'Open the printed address in a browser and allow. You return to your own address; the code in it is good for 60 seconds.',
      samples: samples(authorizeCommand(given), hostedCommand(given)),
    },
    {
      title: has_secret ? '2. Exchange the code on your server' : '2. Exchange the code',
      text: has_secret
        ? 'With hosted storage the exchange links the user; else it answers tokens, which you keep.'
        : 'The exchange answers tokens, which your app keeps.',
      samples: samples(
        exchangeCommand(given, ''),
        exchangeCommand(given, '-d external_user_id=user-42 '),
      ),
    },
    {
      title: '3. Call, and the user pays',
      text: 'Svc answers what the call cost, with your markup, and the balance of the user before and after.',
      samples: samples(
        callCommand(given, '"authorization: Bearer $ACCESS_TOKEN"'),
        callCommand(given, '"authorization: Bearer $SVC_API_KEY" -H "X-Svc-User: user-42"'),
      ),
    },
  ]
}

type Given = Pick<App, 'client_id' | 'client_type' | 'allowed_scopes'> & {
  base: string
  redirect_uri: string
}

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

function exchangeCommand({ base, client_id, client_type }: Given, more: string): string {
  const secret = client_type === 'web_server' ? ` \\\n  -d "client_secret=$CLIENT_SECRET"` : ''
  return `curl ${base}/oauth/token -d grant_type=authorization_code \\
  -d "code=$CODE" -d "code_verifier=$VERIFIER" ${more}\\
  -d client_id=${client_id}${secret}`
}

function callCommand({ base }: Given, headers: string): string {
  return `curl ${base}/v1/chat/completions -H ${headers} \\
  -H 'content-type: application/json' \\
  -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Say hello."}]}'`
}
