// Reads multipart/form-data, the body of an upload: parts between boundary lines, each with a few
// headers, an empty line and its bytes.

const MAX_PARTS = 100
const BLANK = Buffer.from('\r\n\r\n')

export type Part = { name: string; file_name: string | undefined; bytes: Buffer }

/** Undefined when the body is not of that form. */
export function readParts(content_type: string, body: Buffer): readonly Part[] | undefined {
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)"?/i.exec(content_type)?.[1]
  if (boundary === undefined) return undefined
  const marker = Buffer.from(`--${boundary}`)
  const parts: Part[] = []
  let start = body.indexOf(marker)
  while (start !== -1 && parts.length < MAX_PARTS) {
    const next = body.indexOf(marker, start + marker.length)
    if (next === -1) break
    // What lies between two markers starts with a line break and ends with one.
    const part = readPart(body.subarray(start + marker.length + 2, next - 2))
    if (part === undefined) return undefined
    parts.push(part)
    start = next
  }
  return parts
}

function readPart(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf(BLANK)
  if (end === -1) return undefined
  const head = bytes.subarray(0, end).toString('utf8')
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(head)?.[1] ?? ''
  const name = /[;\s]name="([^"]*)"/i.exec(` ${disposition}`)?.[1]
  if (name === undefined) return undefined
  const file_name = /filename="([^"]*)"/i.exec(disposition)?.[1]
  return { name, file_name, bytes: bytes.subarray(end + BLANK.length) }
}
