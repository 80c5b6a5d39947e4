// What the reply of POST /v1/responses has to know of its request.

/** One item of `output`, in OpenAI's words. */
export type OutputItem = Readonly<Record<string, unknown>> & { id: string; type: string }

/** What the client calls a tool. */
export type ClientTool = { kind: 'function' | 'custom'; name: string; namespace?: string }

export type ResponsesTerms = {
  /** The fields of the response object that repeat the request: tools, text, reasoning, metadata and so on. */
  echo: Readonly<Record<string, unknown>>
  /** What the client calls the tools that have another name upstream or take free text, by their upstream name. */
  tools: ReadonlyMap<string, ClientTool>
  /** Whether thoughts are shown as a summary. */
  shows_summary: boolean
  /** Whether reasoning items carry `encrypted_content`. */
  includes_sealed_reasoning: boolean
  /** The provider's model whose thoughts are sealed, as `sealedFor` says it. */
  sealed_for: string
  /** Whether output items are kept for later references. */
  stores_items: boolean
}
