// What the gateway answers, and what went wrong.

/** `code` is for programs, the message for people. */
export class SvcError extends Error {
  readonly code: string
  /** The gateway's time, in milliseconds, where it said so. */
  readonly at_ms: number

  constructor(code: string, message: string, at_ms = 0) {
    super(message)
    this.code = code
    this.at_ms = at_ms
  }
}

/** Errors of the token endpoint have their code and message in one place, those of the API in another. */
export async function readReply<Body>(reply: Response): Promise<Body> {
  const body = await reply.json().catch(() => ({}))
  if (reply.ok) return body
  const { code, message } = body.code ? body : (body.error ?? {})
  throw new SvcError(
    body.code ? body.error : (code ?? 'failed'),
    message ?? `The gateway answered ${reply.status}.`,
    Date.parse(reply.headers.get('date') ?? ''),
  )
}
