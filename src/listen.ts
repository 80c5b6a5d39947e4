// Opens the port of a process. What keeps it closed is said in one line that names the setting.

import { type Config, ConfigError } from './config.ts'
import type { App } from './http/server.ts'

export type PortSetting = 'PORT' | 'WORKER_PORT'

/** Answers where it listens. */
export async function listen(app: App, config: Config, setting: PortSetting): Promise<string> {
  try {
    return await app.listen({ port: config[setting], host: config.HOST })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new ConfigError(describeFault(String(error.code), config, setting), { cause: error })
  }
}

function describeFault(code: string, config: Config, setting: PortSetting): string {
  const port = `port ${config[setting]} of ${config.HOST}`
  if (code === 'EADDRINUSE') {
    return `${port} is in use by another process: stop it, or set ${setting}`
  }
  if (code === 'EACCES') {
    return `${port} may not be opened by this user: set ${setting} above 1023`
  }
  return `HOST=${config.HOST} is no address of this machine (${code})`
}
