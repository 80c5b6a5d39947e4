// A user who is linked to a developer, made the way users are: by consent and the exchange of the code.

import type { TestApp } from './app.ts'
import { connect, connectHosted, createOAuthApp, type OAuthApp, type Person } from './oauth.ts'

export async function linkUser(
  service: TestApp,
  link: {
    developer: Person
    user: Person
    /** Null: connected, but under no name of the developer's. */
    external_user_id: string | null
    app?: OAuthApp
    ended?: boolean
  },
): Promise<OAuthApp> {
  const { developer, user, external_user_id } = link
  const app = link.app ?? (await createOAuthApp(service, developer))
  if (external_user_id === null) await connect(service, { app, user })
  else await connectHosted(service, { app, user, external_user_id })
  if (link.ended) {
    await service.request({
      method: 'DELETE',
      url: `/account/connections/${app.client_id}`,
      headers: user.bearer,
    })
  }
  return app
}
