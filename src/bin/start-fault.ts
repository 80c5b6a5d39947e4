// Why something did not start, for whoever reads the terminal.

/** One line; the stack only for those who asked for details. */
export function describeStartFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? error.code : undefined
  const detailed = /^(debug|trace)$/.test(process.env['LOG_LEVEL'] ?? '')
  return (
    (detailed && error.stack) || error.message || (typeof code === 'string' ? code : error.name)
  )
}
