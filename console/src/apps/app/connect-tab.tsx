// How users are connected, in commands that hold the values of this app.

import { Link } from 'wouter'
import { CopyButton } from '../../ui/copy.tsx'
import { CodeSnippet } from '../../ui/snippet.tsx'
import type { App } from '../apps.ts'
import { connectSteps } from './connect-samples.ts'

export function ConnectTab({ app }: { app: App }) {
  const has_secret = app.client_type === 'web_server'
  return (
    <div className="connect">
      {has_secret ? (
        <p>
          Plain OAuth 2 with PKCE: any library will do. Keep the tokens yourself, or let Svc keep
          the consent (hosted storage) and call with an <Link to="/keys?create=true">API key</Link>{' '}
          and your own name for the user.
        </p>
      ) : (
        <p>
          Plain OAuth 2 with PKCE and no secret: any library will do. Send a DPoP proof with the
          code, and the refresh token is of no use to whoever copies it.
        </p>
      )}
      <section>
        <h2>Client id</h2>
        <p className="app-id">
          <code>{app.client_id}</code>
          <CopyButton text={app.client_id} label="Copy id" />
        </p>
        <p className="soft">
          {has_secret
            ? 'The secret was shown when it was made. If it is lost, replace it from the menu above.'
            : 'It is public: your code may contain it.'}
        </p>
      </section>
      {connectSteps(app).map(({ title, text, samples }) => (
        <section key={title}>
          <h2>{title}</h2>
          <p className="soft">{text}</p>
          <CodeSnippet label={title} samples={samples} />
        </section>
      ))}
      <p>
        All parameters and answers: <a href="/docs#tag-oauth">the reference</a>. To be told who
        connected and what was charged, <Link to="/webhooks?create=true">add a webhook</Link>.
      </p>
    </div>
  )
}
