import * as oauth from 'oauth4webapi'

export type DeviceApp = { issuer: string; client_id: string }

/** The codes: show `user_code` and `verification_uri`, keep `device_code`. */
export async function begin(app: DeviceApp) {
  const server = await discover(app)
  const reply = await oauth.deviceAuthorizationRequest(server, app, oauth.None(), {}, options(app))
  return await oauth.processDeviceAuthorizationResponse(server, app, reply)
}

/** The tokens; throws a ResponseBodyError whose `error` is `authorization_pending` while the user decides. */
export async function poll(app: DeviceApp, device_code: string) {
  const server = await discover(app)
  const none = oauth.None()
  const reply = await oauth.deviceCodeGrantRequest(server, app, none, device_code, options(app))
  return await oauth.processDeviceCodeResponse(server, app, reply)
}

// Svc is OAuth, not OpenID: without the algorithm the library looks for a document that is not there.
async function discover(app: DeviceApp): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(app.issuer)
  const reply = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options(app) })
  return await oauth.processDiscoveryResponse(issuer, reply)
}

// Plain http is for your own machine.
function options(app: DeviceApp) {
  return { [oauth.allowInsecureRequests]: app.issuer.startsWith('http:') }
}
