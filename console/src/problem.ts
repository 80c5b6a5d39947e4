// What went wrong, in the words of the API's error envelope.

export class ApiProblem extends Error {
  override readonly name = 'ApiProblem'
  /** 0 if no answer came. */
  readonly status: number
  readonly code: string
  readonly hint: string | undefined
  /** The field of the request that was wrong. */
  readonly param: string | undefined
  readonly retry_after_s: number | undefined

  constructor(given: {
    status: number
    code: string
    message: string
    hint?: string | undefined
    param?: string | undefined
    retry_after_s?: number | undefined
  }) {
    super(given.message)
    this.status = given.status
    this.code = given.code
    this.hint = given.hint
    this.param = given.param
    this.retry_after_s = given.retry_after_s
  }
}

/** `error` is the parsed body of the answer, whatever it is. */
export function readProblem(error: unknown, response: Response): ApiProblem {
  const told: unknown = isRecord(error) ? error['error'] : undefined
  const fields = isRecord(told) ? told : {}
  const read = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ApiProblem({
    status: response.status,
    code: read('code') ?? 'unknown',
    message: read('message') ?? `The service answered ${response.status}.`,
    hint: read('hint'),
    param: read('param'),
    retry_after_s: Number.isFinite(wait) ? wait : undefined,
  })
}

/** Anything that was thrown, as something that can be shown. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  return new ApiProblem({
    status: 0,
    code: 'console_fault',
    message: 'The console made a mistake.',
    hint: error instanceof Error ? error.message : undefined,
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
