// /sdk/: the browser module for apps without a server, for pages of any site (http/cors.ts).

import { ApiError } from '../platform/errors.ts'
import { readSdkFiles } from './sdk-files.ts'
import type { App } from './server.ts'
import { sendInBestForm } from './static-file.ts'

export function sdkRoutes(app: App): void {
  const files = readSdkFiles()
  // Bytes in memory that every browser keeps.
  const asset = { config: { access: 'public', unlimited: true }, schema: { hide: true } } as const
  app.get('/sdk/:name', asset, (request, reply) => {
    const { name } = request.params as { name: string }
    const file = files.get(name)
    if (!file) {
      throw new ApiError('not_found', {
        message: 'There is no such version of the browser module.',
        hint: 'GET /sdk/manifest.json lists every version.',
      })
    }
    reply.header('cache-control', file.cache_control)
    return sendInBestForm(request, reply, file)
  })
}
