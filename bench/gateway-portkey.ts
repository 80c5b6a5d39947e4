// Loaded before Portkey's server, which adds headers to the streams it fetches: @hono/node-server 1.19.18 hands
// it theirs as they came, immutable, and every stream ends in a 500. These it may change. JSON is left alone.

const fetchAsIs = globalThis.fetch

globalThis.fetch = async (...args) => {
  const response = await fetchAsIs(...args)
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    return response
  }
  const { status, headers, body } = response
  return new Response(body, { status, headers: new Headers(headers) })
}
