// How a receiver tells our requests from anybody else's.

import { CodeSnippet } from '../../ui/snippet.tsx'
import { SIGNATURE_SAMPLES } from './signature-samples.ts'

export function SignatureCheck() {
  return (
    <section className="delivery-part">
      <h3>Check the signature</h3>
      <p className="soft">
        Take nothing whose signature does not fit: answer 401. The secret is the one that was shown
        when the webhook was added.
      </p>
      <CodeSnippet label="Check the signature" samples={SIGNATURE_SAMPLES} />
      <p>
        <a href="/docs#events">Events and their fields</a> ·{' '}
        <a href="/docs#tag-webhooks">Reference of webhooks</a>
      </p>
    </section>
  )
}
