// What every client needs to know: the issuer and what POST /developers/apps answered.

export type App = {
  /** The address of Svc, as its metadata spells it: no slash at the end. */
  issuer: string
  client_id: string
  client_secret: string
  redirect_uri: string
}

/** What the user's session keeps between leaving and coming back. */
export type Kept = { state: string; code_verifier: string }

export const SCOPE = 'credits.read credits.spend'

/** For libraries that do not look at these themselves. */
export function requireAnswer(app: App, callback: URL, kept: Kept): string {
  const answer = callback.searchParams
  if (answer.get('state') !== kept.state) throw new Error('this answer is to another question')
  if (answer.get('iss') !== app.issuer) throw new Error('this answer is from another server')
  const code = answer.get('code')
  if (code === null) throw new Error(answer.get('error') ?? 'the answer has no code')
  return code
}
