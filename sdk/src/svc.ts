// Signing in, and tokens that are good when they are needed. The access token stays in memory; the refresh token is stored, and good
// only together with the key of this browser.

import {
  type Answer,
  handOver,
  isForOpener,
  stateFor,
  takeAnswer,
  waitForAnswer,
} from './answers.ts'
import { makeKey, readKey, signProof } from './dpop.ts'
import { base64url, random, utf8 } from './encoding.ts'
import { openPopup, openStore, requirePage, type Store } from './page.ts'
import { readReply, SvcError } from './replies.ts'

/** Well under the half minute in which the gateway repeats the answer to a refresh that was lost. */
const REQUEST_MAX_MS = 10_000
const MARGIN_MAX_S = 30

export type SvcOptions = {
  client_id: string
  /** Registered with the app; by default this page. */
  redirect_uri?: string | undefined
  scope?: string | undefined
  /** Whether users stay signed in when the tab is closed. */
  remember?: boolean | undefined
  /** Of the gateway; by default where the module came from. */
  base_url?: string | undefined
}

type Tokens = { access_token: string; refresh_token: string; expires_in: number }

export class Svc extends EventTarget {
  readonly #options: SvcOptions
  readonly #redirect_uri: string
  readonly #base: string
  readonly #name: string
  readonly #store: Store
  readonly #channel = new BroadcastChannel('svc')
  #access: { token: string; good_until: number } | undefined
  #key: Promise<CryptoKeyPair> | undefined
  #redirect: Promise<boolean> | undefined
  #attempt = new AbortController()
  #behind_ms = 0

  constructor(options: SvcOptions) {
    super()
    this.#options = options
    this.#redirect_uri = options.redirect_uri ?? location.origin + location.pathname
    this.#base = new URL(options.base_url ?? import.meta.url).origin
    this.#name = `svc:${this.#base}:${options.client_id}`
    this.#store = openStore(options.remember)
    // A duplicated tab has the same refresh token in a store of its own, and the token is good once.
    this.#channel.addEventListener('message', ({ data }) => {
      if (data?.used && data.used === this.#stored) this.#store.setItem(this.#name, data.next)
    })
    // Another tab has signed in or out; without a key, the store was emptied. This tab may hear of it late, when somebody has signed
    // in again: it takes nothing away.
    addEventListener('storage', ({ key, oldValue, newValue }) => {
      const is_rotation = oldValue !== null && newValue !== null
      if (key !== null && (key !== this.#name || is_rotation)) return
      this.#access = undefined
      this.#changed()
    })
  }

  get #stored(): string | null {
    return this.#store.getItem(this.#name)
  }

  get signedIn(): boolean {
    return this.#stored !== null
  }

  /** To be called in a click. Without a popup the page is left, and `handleRedirect` goes on when it is back. */
  async signIn({ popup = false } = {}): Promise<void> {
    requirePage()
    // Before anything is waited for: later it would not belong to the click, and be blocked.
    const opened = openPopup(popup)
    const state = stateFor(opened) + random()
    const verifier = random()
    const url = await this.#authorizeUrl(state, verifier)
    if (!opened) {
      openStore().setItem(state, verifier)
      location.assign(url)
      return await new Promise(() => {})
    }
    this.#attempt.abort()
    this.#attempt = new AbortController()
    const { signal } = this.#attempt
    opened.location.href = url
    await this.#finish(await waitForAnswer(this.#channel, state, signal), verifier)
    this.#attempt.abort()
  }

  /** To be called whenever the page loads. Answers whether somebody has just signed in. */
  handleRedirect(): Promise<boolean> {
    this.#redirect ??= this.#takeRedirect()
    return this.#redirect
  }

  /** An access token that is good now; can be handed on as it is. */
  readonly token = async (): Promise<string> =>
    this.#fresh ?? (await this.#locked(async () => this.#fresh ?? (await this.#refresh())))

  /** `fetch` with the token, to the gateway only. */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input instanceof Request ? input : new URL(input, this.#base), init)
    if (new URL(request.url).origin !== this.#base) {
      throw new SvcError('other_origin', `The token is for ${this.#base} only.`)
    }
    const send = async (token: string) => {
      const copy = request.clone()
      copy.headers.set('authorization', `Bearer ${token}`)
      return await fetch(copy)
    }
    const token = await this.token()
    const reply = await send(token)
    if (reply.status !== 401) return reply
    // Of many calls that were refused at once, the first has replaced it already.
    if (this.#access?.token === token) this.#access = undefined
    return await send(await this.token())
  }

  /** In credits, a million of which are a dollar. */
  async balance(): Promise<{ balance: number; available: number }> {
    return await readReply(await this.fetch('/v1/balance'))
  }

  async signOut(): Promise<void> {
    await this.#locked(async () => {
      const token = this.#stored
      this.#forget()
      if (token !== null) await this.#post('/oauth/revoke', { token })
    })
  }

  async #authorizeUrl(state: string, verifier: string): Promise<string> {
    const { client_id, scope } = this.#options
    const query = new URLSearchParams({
      client_id,
      redirect_uri: this.#redirect_uri,
      response_type: 'code',
      state,
      code_challenge: base64url(await crypto.subtle.digest('SHA-256', utf8(verifier))),
      code_challenge_method: 'S256',
      ...(scope && { scope }),
    })
    return `${this.#base}/oauth/authorize?${query}`
  }

  async #takeRedirect(): Promise<boolean> {
    const answer = takeAnswer()
    if (!answer) return false
    if (isForOpener(answer)) return await handOver(this.#channel, answer)
    const { state } = answer
    const verifier = state && openStore().getItem(state)
    if (!verifier) throw new SvcError('unknown_state', 'This tab did not start the sign-in.')
    openStore().removeItem(state)
    await this.#finish(answer, verifier)
    return true
  }

  async #finish({ iss, error, error_description, code }: Answer, code_verifier: string) {
    if (iss !== this.#base) throw new SvcError('wrong_issuer', `${iss} is not ${this.#base}.`)
    if (!code) throw new SvcError(error ?? 'failed', error_description ?? 'No code came back.')
    const redirect_uri = this.#redirect_uri
    const fields = { grant_type: 'authorization_code', code, code_verifier, redirect_uri }
    await this.#locked(() => this.#askForTokens(fields))
    this.#changed()
  }

  get #fresh(): string | undefined {
    const access = this.#access
    return access && access.good_until > Date.now() ? access.token : undefined
  }

  /** What is stored is read inside the lock: another tab may just have replaced it. */
  async #refresh(): Promise<string> {
    const used = this.#stored
    if (used === null) throw new SvcError('signed_out', 'Nobody is signed in.')
    try {
      const fields = { grant_type: 'refresh_token', refresh_token: used }
      const { access_token, refresh_token: next } = await this.#askForTokens(fields)
      this.#channel.postMessage({ used, next })
      return access_token
    } catch (error) {
      if (error instanceof SvcError && error.code === 'invalid_grant') this.#forget()
      throw error
    }
  }

  async #askForTokens(fields: Record<string, string>): Promise<Tokens> {
    const tokens = await this.#proveAndPost(fields).catch((error: unknown) => {
      const is_late =
        error instanceof SvcError && error.code === 'invalid_dpop_proof' && error.at_ms
      if (!is_late) throw error
      // The clock of this device is wrong: the gateway's counts.
      this.#behind_ms = error.at_ms - Date.now()
      return this.#proveAndPost(fields)
    })
    const { access_token: token, refresh_token, expires_in } = tokens
    const good_s = expires_in - Math.min(MARGIN_MAX_S, expires_in / 10)
    this.#access = { token, good_until: Date.now() + good_s * 1000 }
    this.#store.setItem(this.#name, refresh_token)
    return tokens
  }

  async #proveAndPost(fields: Record<string, string>): Promise<Tokens> {
    this.#key ??= readKey(this.#name).catch(makeKey)
    const what = { htu: `${this.#base}/oauth/token`, at_ms: Date.now() + this.#behind_ms }
    return await this.#post('/oauth/token', fields, {
      DPoP: await signProof(await this.#key, what),
    })
  }

  async #post<Body>(path: string, fields: Record<string, string>, headers = {}): Promise<Body> {
    const { client_id } = this.#options
    const body = new URLSearchParams({ client_id, ...fields })
    const signal = AbortSignal.timeout(REQUEST_MAX_MS)
    return await readReply(
      await fetch(this.#base + path, { method: 'POST', headers, body, signal }),
    )
  }

  async #locked<Result>(work: () => Promise<Result>): Promise<Result> {
    return await navigator.locks.request(this.#name, work)
  }

  #forget(): void {
    this.#access = undefined
    this.#store.removeItem(this.#name)
    this.#changed()
  }

  #changed(): void {
    this.dispatchEvent(new Event('change'))
  }
}
